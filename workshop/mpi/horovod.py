"""Horovod for TensorFlow: whether it is built in this environment, or being built (see `installation.horovod`), and
with which settings: those that pyproject.toml has for uv. The file travels in the wheel.
"""

from __future__ import annotations

import fcntl
import hashlib
import importlib.metadata
import importlib.util
import json
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from workshop.core import config
from workshop.core.environment import own_environment
from workshop.core.errors import WorkshopError

LOADED = 30.0  # seconds within which the library must have been loaded; it takes one or two
# Asks Horovod's library itself, as horovod.tensorflow.mpi_built() does, without the seconds that importing that takes.
LOAD = """
import ctypes, sys
tensorflow, horovod = sys.argv[1:]
try:
    for part in ("framework", "cc"):
        ctypes.CDLL(f"{tensorflow}/libtensorflow_{part}.so.2", ctypes.RTLD_GLOBAL)
    print("" if ctypes.CDLL(horovod).horovod_mpi_built() else "it was built without MPI")
except (OSError, AttributeError) as error:
    print(error)
"""
UNTIL_THEN = "Until then, training exchanges gradients with MPI, and all else can be used."
WAITS = "waits"  # the file that says for whom a build stands still
TAIL = 1 << 16  # bytes at the end of the log in which the compiler's progress is looked for


@dataclass(frozen=True)
class Settings:
    """How Horovod is built: its own requirement, what the build needs besides, what has to be there already and is
    linked to, what it needs when it runs, and the build's variables."""

    requirement: str
    build: tuple[str, ...]
    linked: tuple[str, ...]
    needs: tuple[str, ...]
    variables: Mapping[str, str]


def settings() -> Settings:
    """The settings for Horovod in pyproject.toml."""
    project = tomllib.loads(config.project_file().read_text())
    uv = project["tool"]["uv"]
    extra = uv["extra-build-dependencies"]["horovod"]
    pins = (*project["project"]["dependencies"], *uv["constraint-dependencies"])
    pinned = {pin.partition("==")[0]: pin for pin in pins}
    described = next(about for about in uv["dependency-metadata"] if about["name"] == "horovod")
    return Settings(
        requirement=project["dependency-groups"]["horovod"][0],
        build=tuple(needed for needed in extra if isinstance(needed, str)),
        linked=tuple(needed["requirement"] for needed in extra if not isinstance(needed, str)),
        needs=tuple(pinned.get(name, name) for name in described["requires-dist"]),
        variables=uv["extra-build-variables"]["horovod"],
    )


def library() -> Path | None:
    """Horovod's compiled library for TensorFlow, found without importing either."""
    spec = importlib.util.find_spec("horovod")
    folders = list(spec.submodule_search_locations or []) if spec else []
    return next(
        (library_file for folder in folders for library_file in Path(folder).glob("tensorflow/mpi_lib*.so")), None
    )


def built() -> str | None:
    """The version of Horovod that is built for TensorFlow here; None where there is none."""
    if library() is None:
        return None
    try:
        return importlib.metadata.version("horovod")
    except importlib.metadata.PackageNotFoundError:
        return None


def fault(seconds: float = LOADED) -> str | None:
    """Why the library that is built can't be used, in the loader's words; None where it can, or none is built. Raises
    WorkshopError where that wasn't clear within `seconds`."""
    built, spec = library(), importlib.util.find_spec("tensorflow")
    if built is None:
        return None
    if spec is None or not spec.submodule_search_locations:
        return "TensorFlow is not installed"
    command = [sys.executable, "-P", "-c", LOAD, spec.submodule_search_locations[0], str(built)]
    try:
        done = subprocess.run(
            command,
            env=own_environment(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=seconds,
        )
    except subprocess.TimeoutExpired:
        raise WorkshopError(f"Horovod's library did not load within {seconds:.0f} s; try once more.") from None
    if done.returncode != 0:
        return f"loading it ended with {done.returncode}"
    return " ".join(done.stdout.split()) or None


def working() -> str | None:
    """The version of Horovod that is built here and can be loaded; None where there is none."""
    version = built()
    return version if version and fault() is None else None


def key() -> str:
    """A hash of everything that a build depends on. Another hash means that Horovod has to be built again."""
    build_settings = settings()
    linked = []
    for name in (*build_settings.linked, "tensorflow"):  # its name on ARM, where there is no tensorflow-cpu
        with suppress(importlib.metadata.PackageNotFoundError):
            linked.append(f"{name}=={importlib.metadata.version(name)}")
    ingredients = [
        build_settings.requirement,
        build_settings.build,
        linked,
        sorted(build_settings.variables.items()),
        sys.version_info[:2],
    ]
    return hashlib.sha256(json.dumps(ingredients).encode()).hexdigest()[:16]


def folder() -> Path:
    """The folder of this environment's build, with its log and its notes."""
    return Path(sys.prefix) / "horovod-build"


@dataclass(frozen=True)
class Build:
    """How far Horovod is in this environment: `pending` was not begun or interrupted, `failed` says why in `reason`.
    `percent` is how much is compiled, where the compiler has told that; `waits` says for whom it stands still."""

    state: Literal["built", "running", "failed", "pending"]
    reason: str = ""
    percent: int | None = None
    waits: str = ""

    @property
    def obstacle(self) -> str | None:
        """Why there is no Horovod, in half a sentence; None where it is built."""
        return {
            "built": None,
            "running": "its compilation waits for a measurement" if self.waits else "it is still being compiled",
            "failed": "it could not be compiled here (workshop doctor says why)",
            "pending": "it is not built on this machine",
        }[self.state]

    def __str__(self) -> str:
        done = f", {self.percent} % so far" if self.percent is not None else ""
        begin = "`workshop up` compiles it in the background" if config.in_checkout() else "Build it"
        going = f"Horovod is being compiled{done}"
        if self.waits:
            going = f"The compilation of Horovod{done and f' ({self.percent} % so far)'} waits for {self.waits}"
        return {
            "built": "Horovod is built for TensorFlow and MPI.",
            "running": f"{going}. {UNTIL_THEN}",
            "failed": f"Horovod could not be compiled. {self.reason} Training exchanges gradients with MPI.",
            "pending": f"Horovod is not compiled yet. {begin} (or: workshop horovod install). {UNTIL_THEN}",
        }[self.state]


def build() -> Build:
    """The state of Horovod in this environment; quick, and imports nothing of Horovod."""
    notes = read(folder())
    if library() is not None:
        build_key = key()
        if notes.get("built", build_key) == build_key:  # without a note another installer has built it, like uv
            return Build("built")
    if is_building(folder()):
        return Build("running", percent=percent(folder() / "log"), waits=waits(folder()))
    if "failed" in notes:
        return Build("failed", str(notes["failed"]))
    return Build("pending")


def read(folder: Path) -> dict[str, Any]:
    """The notes on the installed library and on the newest build: `built`, the key of the installed library ("" where
    it is unknown or can't be used), and `failed`, the reason why the newest build ended. Empty without notes."""
    with suppress(OSError, ValueError):
        notes = json.loads((folder / "end.json").read_text())
        return notes if isinstance(notes, dict) else {}
    return {}


def waits(folder: Path) -> str:
    """For whom the build that goes on stands still; "" where it doesn't."""
    with suppress(OSError):
        return (folder / WAITS).read_text()
    return ""


def tell(folder: Path, **notes: str) -> None:
    """Keep what `read` gives; its caller holds the folder's lock."""
    half = folder / "end.json.half"
    half.write_text(json.dumps(notes))
    half.replace(folder / "end.json")


def is_building(folder: Path) -> bool:
    """Whether somebody builds in that folder now: the kernel takes the lock back from a process that dies."""
    with suppress(OSError), open(folder / "lock") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


def percent(log: Path) -> int | None:
    """How much is compiled by what make has told last; None where it has told nothing yet."""
    with suppress(OSError), open(log, "rb") as log_file:
        log_file.seek(max(os.fstat(log_file.fileno()).st_size - TAIL, 0))
        percentages = re.findall(rb"^\s*\[ *(\d{1,3})%\]", log_file.read(), re.M)
        return int(percentages[-1]) if percentages else None
    return None
