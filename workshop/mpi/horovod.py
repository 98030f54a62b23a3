"""Horovod for TensorFlow: whether it is built in this environment, and building it there.

It comes as source alone, and needs settings to build. They are those that pyproject.toml has for uv; the file travels
in the wheel.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from workshop import config
from workshop.errors import WorkshopError
from workshop.mpi import openmpi, prefix

SECONDS = 1200.0  # for all of it; compiling takes 2 to 4 minutes on two cores
COMPILERS = ("gcc", "g++", "make")
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
CHECK = "import horovod.tensorflow as hvd; hvd.init(); assert hvd.size() == 2, hvd.size(); assert hvd.mpi_built()"


@dataclass(frozen=True)
class Settings:
    """How Horovod is built: its own requirement, what the build needs besides, what has to be there already and is
    linked to, what it needs when it runs, and the build's variables."""

    requirement: str
    build: tuple[str, ...]
    linked: tuple[str, ...]
    needs: tuple[str, ...]
    variables: Mapping[str, str]


def settings(file: Path | None = None) -> Settings:
    """What pyproject.toml says of Horovod."""
    project = tomllib.loads((file or config.project_file()).read_text())
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
    return next((found for folder in folders for found in Path(folder).glob("tensorflow/mpi_lib*.so")), None)


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
    command = [sys.executable, "-c", LOAD, spec.submodule_search_locations[0], str(built)]
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=seconds)
    except subprocess.TimeoutExpired:
        raise WorkshopError(f"Horovod's library did not load within {seconds:.0f} s; try once more.") from None
    if done.returncode != 0:
        return f"loading it ended with {done.returncode}"
    return " ".join(done.stdout.split()) or None


def working() -> str | None:
    """The version of Horovod that is built here and can be loaded; None where there is none."""
    version = built()
    return version if version and fault() is None else None


def install() -> str:
    """Build Horovod and install it into this environment, unless it is there and works; returns its version.

    Tries it with two ranks, and takes it away again where they don't find each other. Raises WorkshopError.
    """
    if version := working():
        return version
    lacking = [program for program in COMPILERS if shutil.which(program) is None]
    if lacking:
        raise WorkshopError(
            f"{', '.join(lacking)} not found; install gcc, g++ and make first (apt-get install gcc g++ make): "
            "Horovod is built with them."
        )
    wanted = settings()
    for package in wanted.linked:
        try:
            importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            raise WorkshopError(f"{package} is not installed in {sys.prefix}; Horovod is linked to it.") from None
    with tempfile.TemporaryDirectory(prefix="workshop-horovod-") as folder:
        steps = _Steps(config.home() / "horovod.log")
        tools = Path(folder) / "tools"
        # pip, too: uv's environments have none, and uv can't build a wheel with what lies in a folder.
        steps.take([*prefix.installer(), "--target", str(tools), "pip", *wanted.build], "its build tools")
        path = os.pathsep.join([str(tools / "bin"), str(Path(sys.prefix) / "bin"), os.environ.get("PATH", os.defpath)])
        variables = {**wanted.variables, "PYTHONPATH": str(tools), "PATH": path, "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
        wheels = Path(folder) / "wheels"
        options = ["--no-deps", "--no-build-isolation", "--no-cache-dir", "--wheel-dir", str(wheels)]
        steps.take([sys.executable, "-m", "pip", "wheel", *options, wanted.requirement], "Horovod", variables)
        wheel = next(wheels.glob("*.whl"))
        steps.take([*prefix.installer(), *wanted.needs], "what Horovod needs")
        steps.take([*prefix.installer(), "--no-deps", "--force-reinstall", str(wheel)], "Horovod's wheel")
        importlib.invalidate_caches()
        try:
            ranks = [openmpi.launcher(), "-n", "2", "--map-by", ":OVERSUBSCRIBE", sys.executable, "-c", CHECK]
            steps.take(ranks, "two ranks", openmpi.environment() | {"TF_CPP_MIN_LOG_LEVEL": "3"})
        except WorkshopError:
            steps.take([*prefix.installer("uninstall"), "horovod"], "the removal of what doesn't work")
            raise
    version = built()
    if version is None:
        raise WorkshopError(f"Horovod was installed, but not where {sys.executable} looks for packages.")
    return version


class _Steps:
    """Programs one after the other, with a common time limit; what they say goes into a file."""

    def __init__(self, log: Path) -> None:
        self.log = log
        self.deadline = time.monotonic() + SECONDS
        log.write_text("")

    def take(self, command: Sequence[str], what: str, variables: Mapping[str, str] | None = None) -> None:
        """Run a program to its end. Raises WorkshopError with its last words; leaves no process behind."""
        began = self.log.stat().st_size
        with self.log.open("ab") as log:
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=os.environ | dict(variables or {}),
                start_new_session=True,  # a compilation is a whole tree of processes, ended together
            )
            try:
                code = process.wait(max(self.deadline - time.monotonic(), 0))
            except subprocess.TimeoutExpired:
                raise WorkshopError(
                    f"Horovod was not built within {SECONDS / 60:.0f} minutes, {what} were not done; see {self.log}."
                ) from None
            finally:
                if process.poll() is None:
                    os.killpg(process.pid, signal.SIGKILL)
                    process.wait()
        if code != 0:
            said = self.log.read_bytes()[began:].decode(errors="replace")
            raise WorkshopError(f"Horovod can't be built: {what} failed ({_reason(said)}); all is in {self.log}.")


def _reason(said: str) -> str:
    """The line of an output that says best why it ended: the first that a compiler calls an error, else the last."""
    lines = [" ".join(line.split()) for line in said.splitlines() if line.strip()]
    marked = [line for line in lines if "error:" in line.lower() and "subprocess" not in line]
    return (marked or lines[-1:] or ["it said nothing"])[0][:300]
