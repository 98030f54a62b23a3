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
import time
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path

from workshop.core import config, file_locks
from workshop.core.errors import BadInput, WorkshopError
from workshop.core.memory import size
from workshop.core.parent_death import guarded
from workshop.extension import Check
from workshop.mpi import prefix

PYTHONS = ((3, 12), (3, 11))  # OpenFL 1.9 asks for less than 3.13, its NumPy for at least 3.11
SECONDS = 1200  # for a download on a slow line
ROOM = 3 << 30  # bytes: 1.8 GB installed, plus the downloaded files
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
    """Install the environment unless it exists, and return its Python. `say` gets each step in words. Raises
    WorkshopError."""
    if (python := installed()) is not None:
        return python
    try:
        with open(folder().with_name(".installing"), "w") as lock:
            waiting = cache(lambda: say("waiting for somebody else who installs it"))  # once
            if not file_locks.lock(lock, time.monotonic() + SECONDS, waiting):
                raise WorkshopError(
                    f"Somebody else has been installing OpenFL for {SECONDS} s; end that process and try again."
                )
            if installed() is None:
                _install(folder(), interpreter(), say)
    except OSError as error:
        raise WorkshopError(
            f"{folder()} can't be written ({error.strerror}); free some space or set WORKSHOP_HOME."
        ) from error
    return require()


def interpreter() -> str:
    """Return a Python that OpenFL supports: ours, or one on the PATH. Raises WorkshopError."""
    if sys.version_info[:2] in PYTHONS:
        return getattr(sys, "_base_executable", None) or sys.executable
    for major, minor in PYTHONS:
        if (python := shutil.which(f"python{major}.{minor}")) is not None:
            return python
    ours = ".".join(map(str, sys.version_info[:2]))
    raise WorkshopError(
        f"OpenFL {OPENFL} needs Python 3.11 or 3.12, but this is {ours} and neither is on the PATH; install one of "
        "them."
    )


def _install(place: Path, python: str, say: Callable[[str], None]) -> None:
    """Install into a temporary folder, which is renamed to `place` when it is complete."""
    for remnant in place.parent.glob(f".{place.name}-*"):  # an installation that was killed: only this one has the lock
        shutil.rmtree(remnant, ignore_errors=True)
    shutil.rmtree(place, ignore_errors=True)  # it has no Python, or it would count as installed
    free = shutil.disk_usage(place.parent).free
    if free < ROOM:
        raise WorkshopError(
            f"OpenFL needs {size(ROOM)} in {place.parent}, where {size(free)} are free; free some space or set "
            "WORKSHOP_HOME."
        )
    partial = place.with_name(f".{place.name}-{os.getpid()}")
    deadline = time.monotonic() + SECONDS
    try:
        for words, command in _commands(partial, python):
            say(words)
            _run(command, deadline)
        starter = partial / "bin" / "fx"
        starter.write_text(FX)
        starter.chmod(0o755)
        say("trying it")
        _run([str(starter), "--version"], deadline)
        partial.rename(place)
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def _commands(partial: Path, python: str) -> Sequence[tuple[str, list[str]]]:
    """Return the steps in words and as commands: with uv, which is faster, or else with venv and pip."""
    inside, listed = str(partial / "bin" / "python"), str(requirements())
    packages = f"installing OpenFL {OPENFL} and what it needs (0.4 GB to download)"
    uv = prefix.uv()
    if uv is not None:
        return (
            ("making an environment", [uv, "venv", "--quiet", "--python", python, str(partial)]),
            (
                packages,
                [uv, "pip", "install", "--quiet", "--compile-bytecode", "--python", inside, "--requirement", listed],
            ),
        )
    pip = [inside, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    return (
        ("making an environment", [python, "-m", "venv", str(partial)]),
        (packages, [*pip, "install", "--requirement", listed]),
    )


def _run(command: Sequence[str], deadline: float) -> None:
    """Run a command outside of any project: in a project, uv would apply the project's versions."""
    seconds = max(deadline - time.monotonic(), 1.0)
    try:
        done = subprocess.run(
            guarded(list(command)),
            cwd="/",
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=seconds,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise WorkshopError(f"OpenFL could not be installed within {SECONDS} s; try again on a faster line.") from None
    if done.returncode != 0:
        raise WorkshopError(f"OpenFL can't be installed: {prefix.fault(done.stderr or done.stdout)}")


def check() -> Check:
    """Check whether OpenFL is installed. Only the lab on federated learning needs it."""
    if installed():
        return Check("OpenFL", True, f"{OPENFL}, in an environment of its own", needed=False)
    fix = "Run `workshop federation install` (about 2 minutes) before the lab on federated learning reaches OpenFL."
    return Check("OpenFL", False, "not installed", fix, needed=False)
