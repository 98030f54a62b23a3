"""The environment that OpenFL has for itself: its gRPC and TensorFlow don't go with the workshop's own.

It is a folder in the state folder's cache, installed by `workshop federation install` from exact versions, all or
nothing.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
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
ROOM = 3 << 30  # bytes: 1.8 GB installed, and the files that it is unpacked from
OPENFL = "1.9"

# OpenFL's own `fx` would name the folder in which it was installed before that was given its name.
FX = """#!/bin/sh
exec "$(dirname "$(realpath "$0")")/python" -m openfl.interface.cli "$@"
"""


def requirements() -> Path:
    """The file with the versions, which learners can install by hand as well."""
    return config.labs_folder() / "federated" / "openfl" / "requirements.txt"


def folder() -> Path:
    """Where the environment is, or would be. Other versions would be in another one."""
    versions = hashlib.sha256(requirements().read_bytes()).hexdigest()[:8]
    return config.cache_folder("federation") / f"openfl-{OPENFL}-{versions}"


def installed() -> Path | None:
    """The environment's Python; None where it isn't installed."""
    python = folder() / "bin" / "python"
    return python if python.exists() else None


def require() -> Path:
    """The environment's Python. Raises BadInput where it isn't installed."""
    python = installed()
    if python is None:
        raise BadInput("OpenFL isn't installed here; run `workshop federation install` first (about 2 minutes).")
    return python


def install(say: Callable[[str], None] = lambda words: None) -> Path:
    """Install the environment unless it is there, and return its Python. `say` is told what is being done. Raises
    WorkshopError."""
    if (python := installed()) is not None:
        return python
    try:
        with _alone(folder().with_name(".installing"), say):
            if installed() is None:
                _install(folder(), interpreter(), say)
    except OSError as error:
        raise WorkshopError(
            f"{folder()} can't be written ({error.strerror}); free some space or set WORKSHOP_HOME."
        ) from error
    return require()


def interpreter() -> str:
    """A Python that OpenFL supports: ours, or one on the PATH. Raises WorkshopError."""
    if sys.version_info[:2] in PYTHONS:
        return getattr(sys, "_base_executable", None) or sys.executable
    for major, minor in PYTHONS:
        if (found := shutil.which(f"python{major}.{minor}")) is not None:
            return found
    ours = ".".join(map(str, sys.version_info[:2]))
    raise WorkshopError(
        f"OpenFL {OPENFL} needs Python 3.11 or 3.12, but this is {ours} and neither is on the PATH; install one of "
        "them."
    )


def _install(place: Path, python: str, say: Callable[[str], None]) -> None:
    """Install into a folder beside it, which gets its name when everything is there."""
    for left in place.parent.glob(f".{place.name}-*"):  # by an installation that was killed; nobody else is at it now
        shutil.rmtree(left, ignore_errors=True)
    shutil.rmtree(place, ignore_errors=True)  # its Python is gone, or it would count as installed
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
    """What is done, in words and as commands: with uv where there is one, which is faster, else with venv and pip."""
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
    """Run a command outside of any project: uv would apply the versions of the one that it is started in."""
    left = max(deadline - time.monotonic(), 1.0)
    try:
        done = subprocess.run(
            guarded(list(command)),
            cwd="/",
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=left,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise WorkshopError(f"OpenFL could not be installed within {SECONDS} s; try again on a faster line.") from None
    if done.returncode != 0:
        words = " ".join((done.stderr or done.stdout).split())
        raise WorkshopError(f"OpenFL can't be installed on this machine; the installer says: {words[-600:]}")


@contextlib.contextmanager
def _alone(lock: Path, say: Callable[[str], None]) -> Iterator[None]:
    """Wait until nobody else installs into the same place."""
    with open(lock, "w") as held:
        told = cache(lambda: say("waiting for somebody else who installs it"))  # once
        if not file_locks.lock(held, time.monotonic() + SECONDS, told):
            raise WorkshopError(
                f"Somebody else has been installing OpenFL for {SECONDS} s; end that process and try again."
            )
        yield


def check() -> Check:
    """Whether OpenFL is installed; nothing but the lab on federated learning needs it."""
    there = installed()
    if there:
        return Check("OpenFL", True, f"{OPENFL}, in an environment of its own", needed=False)
    fix = "Run `workshop federation install` (about 2 minutes) before the lab on federated learning reaches OpenFL."
    return Check("OpenFL", False, "not installed", fix, needed=False)
