"""The centre's profile: what its staff write once, so that a session on its cluster needs no options.

A YAML file, named by WORKSHOP_SITE or in one of `PLACES`:

    modules: [gcc/13, openmpi/5]       # loaded before a session's ranks start
    environment: {FI_PROVIDER: verbs}  # variables of all ranks
    slurm: {partition: teaching, account: courses, qos: short}
    time: 90                           # minutes
    options: [--exclusive]             # further options of salloc
    launcher: slurm                    # where a session starts that names no place; local otherwise
    mpi: {launcher: srun --mpi=pmix, library: /opt/mpi/lib/libmpi.so.40}  # for --mpi system; mostly those on PATH
"""

from __future__ import annotations

import os
import shlex
import subprocess
from functools import cache
from pathlib import Path
from typing import Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from workshop.core import config
from workshop.core.errors import BadInput, bad_input

VARIABLE = "WORKSHOP_SITE"
NAME = "site.yaml"
LOADED = 60  # seconds that modules get to load


class Profile(BaseModel):
    """A centre's profile; an empty one where there is none."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    modules: tuple[str, ...] = ()
    environment: dict[str, str] = Field(default_factory=dict)
    slurm: dict[Literal["partition", "account", "qos", "reservation", "constraint", "gpus"], str] = Field(
        default_factory=dict
    )
    time: int | None = Field(default=None, ge=1)
    options: tuple[str, ...] = ()
    launcher: Literal["local", "slurm"] = "local"
    mpi: dict[Literal["launcher", "library"], str] = Field(default_factory=dict)


def places() -> list[Path]:
    """Where a profile may be, the first that exists counts."""
    named = os.environ.get(VARIABLE)
    return [Path(named)] if named else [config.home() / NAME, Path("/etc/workshop") / NAME]


def read_profile() -> Profile:
    """The centre's profile. Raises BadInput with the file where it can't be read."""
    file = next((place for place in places() if place.is_file()), None)
    if file is None:
        if named := os.environ.get(VARIABLE):
            raise BadInput(f"{VARIABLE} names {named}, which is not a file; it should be the centre's profile.")
        return Profile()
    try:
        return Profile.model_validate(yaml.safe_load(file.read_text()) or {})
    except ValidationError as error:
        raise bad_input(error, str(file)) from error
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise BadInput(f"The centre's profile {file} can't be read: {' '.join(str(error).split())}.") from None


@cache
def loaded(modules: tuple[str, ...]) -> dict[str, str]:
    """The variables of a login shell with these modules that differ from this process's. Raises BadInput with the
    shell's words where one can't be loaded."""
    if not modules:
        return {}
    script = f"module load {shlex.join(modules)} >&2 && printf '\\0' && env -0"
    try:
        done = subprocess.run(
            ["bash", "-lc", script], capture_output=True, text=True, errors="surrogateescape", timeout=LOADED
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise BadInput(f"The modules {', '.join(modules)} of the centre's profile can't be loaded: {error}.") from None
    if done.returncode:
        message = done.stderr.strip().splitlines()[-1:] or ["no reason was given"]
        raise BadInput(f"The modules {', '.join(modules)} of the centre's profile can't be loaded: {message[0]}")
    pairs = (line.partition("=") for line in done.stdout.split("\0") if "=" in line)
    shells_own = ("_", "PWD", "OLDPWD", "SHLVL")
    return {name: value for name, _, value in pairs if os.environ.get(name) != value and name not in shells_own}
