"""OpenFL's own environment: its versions of gRPC and TensorFlow conflict with the workshop's.

It is a folder in the state folder's cache. `workshop federation install` installs exact versions into it, completely or
not at all.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from workshop.core import config
from workshop.core.errors import BadInput, WorkshopError
from workshop.core.parent_death import guarded
from workshop.extension import Check
from workshop.mpi import prefix

PYTHONS = ((3, 12), (3, 11))  # OpenFL 1.9 asks for less than 3.13, its NumPy for at least 3.11
OPENFL = "1.9"

# OpenFL's own `fx` would contain the temporary name of the folder in which it was installed.
FX = """#!/bin/sh
exec "$(dirname "$(realpath "$0")")/python" -m openfl.interface.cli "$@"
"""


def requirements() -> Path:
    """Return the file with the versions, which learners can install by hand as well."""
    return config.labs_folder() / "federated" / "openfl" / "requirements.txt"


def folder() -> Path:
    """Return the environment's folder, which may not exist yet. Its name depends on the versions."""
    versions = hashlib.sha256(requirements().read_bytes()).hexdigest()[:8]
    return config.cache_folder("federation") / f"openfl-{OPENFL}-{versions}"


def installed() -> Path | None:
    """Return the environment's Python; None where it isn't installed."""
    python = folder() / "bin" / "python"
    return python if python.exists() else None


def require() -> Path:
    """Return the environment's Python. Raises BadInput where it isn't installed."""
    python = installed()
    if python is None:
        raise BadInput(missing())
    return python


def missing() -> str:
    """Say that OpenFL isn't installed and who installs it; "" where it is."""
    if installed() is not None:
        return ""
    return "OpenFL isn't installed here; the instructor runs `workshop federation install` first (about 2 minutes)."


def install(say: Callable[[str], None] = lambda words: None) -> Path:
    """Install the environment unless it exists, with uv, which is faster, or else with venv and pip; return its Python.
    `say` gets each step in words. Raises WorkshopError."""
    if (python := installed()) is not None:
        return python
    say(f"installing OpenFL {OPENFL} and what it needs (0.4 GB to download, 1.8 GB of disk)")
    place, uv = folder(), prefix.uv()
    partial = place.with_name(f".{place.name}-{os.getpid()}")
    inside, starter, listed = str(partial / "bin" / "python"), partial / "bin" / "fx", str(requirements())
    try:
        if uv is not None:
            _run(uv, "venv", "--quiet", "--python", interpreter(), str(partial))
            _run(uv, "pip", "install", "--quiet", "--compile-bytecode", "--python", inside, "--requirement", listed)
        else:
            _run(interpreter(), "-m", "venv", str(partial))
            _run(inside, "-m", "pip", "--quiet", "--disable-pip-version-check", "install", "--requirement", listed)
        starter.write_text(FX)
        starter.chmod(0o755)
        say("trying it")
        _run(str(starter), "--version")
        partial.rename(place)
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    return require()


def interpreter() -> str:
    """Return a Python that OpenFL supports: ours, or one on the PATH. Raises WorkshopError."""
    if sys.version_info[:2] in PYTHONS:
        return str(getattr(sys, "_base_executable", sys.executable))
    for major, minor in PYTHONS:
        if (python := shutil.which(f"python{major}.{minor}")) is not None:
            return python
    raise WorkshopError(
        f"OpenFL {OPENFL} needs Python 3.11 or 3.12, but this is {sys.version_info[0]}.{sys.version_info[1]} and "
        "neither is on the PATH; install one of them."
    )


def _run(*command: str) -> None:
    """Run a command outside of any project: in a project, uv would apply the project's versions."""
    done = subprocess.run(guarded([*command]), cwd="/", stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if done.returncode != 0:
        raise WorkshopError(f"OpenFL can't be installed: {prefix.fault(done.stderr or done.stdout)}")


def check() -> Check:
    """Check whether OpenFL is installed. Only the lab on federated learning needs it."""
    try:
        if installed():
            return Check("OpenFL", True, f"{OPENFL}, in an environment of its own", needed=False)
    except BadInput as refused:  # there is no folder for it
        return Check("OpenFL", False, "", str(refused), needed=False)
    return Check("OpenFL", False, "not installed", missing(), needed=False)
