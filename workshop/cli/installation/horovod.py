"""Building Horovod in this environment: in the foreground (`install`), or as a child of `workshop up`. A wheel that
works is kept in the state folder, for the next environment."""

from __future__ import annotations

import importlib
import importlib.metadata
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from workshop.cli.installation.compilation import GENTLY, compile_all, training
from workshop.core import config, processes
from workshop.core.environment import own_environment
from workshop.core.errors import WorkshopError
from workshop.core.parent_death import guarded, kill_trees
from workshop.mpi import horovod, openmpi, prefix
from workshop.sessions.measurement_lock import holder
from workshop.sessions.supervisor import ChildProcess, serve

BUILD_SECONDS = 6 * 3600.0  # beside ranks that may take all cores; alone it takes 2 to 4 minutes on two cores
COMPILERS = ("gcc", "g++", "make")
LOOK = 0.5  # seconds between looks at a step
CHECK = "import horovod.tensorflow as hvd; hvd.init(); assert hvd.size() == 2, hvd.size(); assert hvd.mpi_built()"


def install() -> str:
    """Build Horovod and install it into this environment, unless it is there and works; returns its version.

    Waits for another process that builds it here. Has low priority, and stands still while a run is measured. Tries
    Horovod with two ranks, and takes it away again where they don't find each other. Raises WorkshopError.
    """
    folder = horovod.folder()
    try:
        folder.mkdir(exist_ok=True)
        (folder / "lock").touch()
    except OSError as error:
        raise WorkshopError(
            f"Horovod can't be built: {folder} can't be written ({error.strerror}); whoever installed this "
            "environment can build it (workshop horovod install)."
        ) from None
    with open(folder / "lock", "a") as lock:
        if not processes.lock(lock, time.monotonic() + BUILD_SECONDS):
            raise WorkshopError(f"Another process has built Horovod in {folder} for too long; end it and try again.")
        build_key = horovod.key()
        if horovod.read(folder).get("built", build_key) == build_key and (version := horovod.working()):
            return version
        # Until the new library has been tried, none counts as built with these settings, also after an interruption.
        horovod.tell(folder, **_unusable())
        try:
            version = _build(_Steps(folder / "log"), folder)
        except WorkshopError as error:
            horovod.tell(folder, **_unusable(), failed=str(error))
            raise
        horovod.tell(folder, built=build_key)
        return version


def _unusable() -> dict[str, str]:
    """The note on the library that is installed; on none, since what uv may install later can be used."""
    return {"built": ""} if horovod.library() else {}


def _build(steps: _Steps, folder: Path) -> str:
    """Build and install the missing version. Returns Horovod's version."""
    settings = horovod.settings()
    wheel_folder = config.cache_folder("horovod") / horovod.key()
    if not list(wheel_folder.glob("*.whl")):
        _compile(steps, folder / "work", settings, wheel_folder)
    steps.take([*prefix.installer(), *settings.needs], "what Horovod needs")
    # By its name, so that uv takes it for what pyproject.toml asks for, which it doesn't with the wheel's address.
    wheel = ["--no-deps", "--force-reinstall", "--no-index", "--find-links", str(wheel_folder), settings.requirement]
    steps.take([*prefix.installer(), *wheel], "Horovod's wheel")
    importlib.invalidate_caches()
    try:
        ranks = [openmpi.launcher(), "-n", "2", "--map-by", ":OVERSUBSCRIBE", sys.executable, "-P", "-c", CHECK]
        steps.take(ranks, "two ranks", openmpi.environment() | {"TF_CPP_MIN_LOG_LEVEL": "3"})
    except WorkshopError:
        shutil.rmtree(wheel_folder, ignore_errors=True)
        steps.take([*prefix.installer("uninstall"), "horovod"], "the removal of what doesn't work")
        raise
    return importlib.metadata.version("horovod")


def _compile(steps: _Steps, folder: Path, settings: horovod.Settings, wheel_folder: Path) -> None:
    """Make the wheel in a folder, which is removed afterwards, and put it into `wheel_folder`."""
    lacking = [program for program in COMPILERS if shutil.which(program) is None]
    if lacking:
        raise WorkshopError(
            f"{', '.join(lacking)} not found; install gcc, g++ and make first (apt-get install gcc g++ make): "
            "Horovod is built with them."
        )
    shutil.rmtree(folder, ignore_errors=True)  # of a build that was killed
    tools, wheels = folder / "tools", folder / "wheels"
    # pip, too: uv's environments have none, and uv can't build a wheel with what lies in a folder.
    steps.take([*prefix.installer(), "--target", str(tools), "pip", *settings.build], "its build tools")
    path = os.pathsep.join([str(tools / "bin"), str(Path(sys.prefix) / "bin"), os.environ.get("PATH", os.defpath)])
    variables = {**settings.variables, "PYTHONPATH": str(tools), "PATH": path, "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    variables["TMPDIR"] = str(folder)  # where pip builds: what a killed build leaves is removed by the next one
    options = ["--no-deps", "--no-build-isolation", "--no-cache-dir", "--no-binary", ":all:"]
    # Verbose, for make's percentages, which tell how far it is.
    pip = [sys.executable, "-P", "-m", "pip", "wheel", "-v", *options, "--wheel-dir", str(wheels), settings.requirement]
    steps.take(pip, "Horovod", variables)
    wheel_folder.mkdir(parents=True, exist_ok=True)
    wheel = next(wheels.glob("*.whl"))
    half = wheel_folder / f".{wheel.name}"
    shutil.move(wheel, half)
    half.replace(wheel_folder / wheel.name)
    shutil.rmtree(folder, ignore_errors=True)


class _Steps:
    """Programs one after the other with a common time limit and low priority, which stand still while a run is
    measured; a file gets their output."""

    def __init__(self, log: Path) -> None:
        self.log = log
        self.waits = log.with_name(horovod.WAITS)
        self.deadline = time.monotonic() + BUILD_SECONDS
        log.write_text("")
        self.waits.unlink(missing_ok=True)  # an earlier build may have been killed while it stood still

    def take(self, command: Sequence[str], what: str, variables: Mapping[str, str] | None = None) -> None:
        """Run a program to its end. Raises WorkshopError with its last words; leaves no process behind."""
        began = self.log.stat().st_size
        with self.log.open("ab") as log:
            process = subprocess.Popen(
                guarded([*GENTLY, *command], tree=True),  # a compilation is a whole tree of processes, ended together
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=own_environment() | dict(variables or {}),
                process_group=0,
                cwd="/",  # in a checkout, uv would hold the build's tools to the project's own pins
            )
            try:
                code = self._wait(process, what)
            finally:
                if process.poll() is None:
                    process.terminate()
                    process.wait()
                self.waits.unlink(missing_ok=True)
        if code != 0:
            output = self.log.read_bytes()[began:].decode(errors="replace")
            if any(words in output for words in prefix.UNREACHED):
                raise WorkshopError(f"Horovod can't be built: {prefix.fault(output)}")
            raise WorkshopError(f"Horovod can't be built: {what} failed ({_reason(output)}); all is in {self.log}.")

    def _wait(self, process: subprocess.Popen[bytes], what: str) -> int:
        resting = ""
        while time.monotonic() < self.deadline:
            with suppress(subprocess.TimeoutExpired):
                return process.wait(LOOK)
            rested, resting = resting, holder()
            if resting:  # said at every look: a program may begin after the first
                kill_trees(process.pid, signal.SIGSTOP)
                if resting != rested:
                    self.waits.write_text(f"{resting}, which measures on this machine")
            elif rested:
                kill_trees(process.pid, signal.SIGCONT)
                self.waits.unlink(missing_ok=True)
        raise WorkshopError(
            f"Horovod was not built within its time limit, {what} were not done; see {self.log}, and try again "
            "(workshop horovod install)."
        )


def _reason(output: str) -> str:
    """The line of an output that says best why it ended: the first that a compiler calls an error, else the last."""
    lines = [" ".join(line.split()) for line in output.splitlines() if line.strip()]
    marked = [line for line in lines if "error:" in line.lower() and "subprocess" not in line]
    return (marked or lines[-1:] or ["it said nothing"])[0][:300]


@dataclass
class HorovodBuild(ChildProcess):
    """The build as a child of `workshop up`: at low priority, and all else goes on without it."""

    say: Callable[[str], None]
    command: Sequence[str] = (sys.executable, "-P", "-m", "workshop.cli.installation.horovod")
    name = "compilation of Horovod"
    answers = "Horovod is built"
    needed = False

    def start(self) -> None:
        self.say(f"Compiling Horovod in the background, which takes some minutes. {horovod.UNTIL_THEN}")
        self._process = serve(guarded(list(self.command)), config.home() / "horovod.log")

    def wait_ready(self, ending: threading.Event) -> None:
        assert self._process is not None, "started before"
        while not ending.is_set():
            with suppress(subprocess.TimeoutExpired):
                if self._process.wait(LOOK) == 0:
                    return
                raise WorkshopError(str(horovod.build()))

    def done(self) -> str | None:
        build = horovod.build()
        if build.state == "built":
            return "Training exchanges gradients with Horovod from now on."
        return f"{build} The next `workshop up` tries it again."


def main() -> None:
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))  # by which a step is ended
    with suppress(OSError):  # where the kernel groups processes by session, the session's niceness is what counts
        Path("/proc/self/autogroup").write_text(GENTLY[-1])
    failed = None
    try:
        install()
    except WorkshopError as error:
        failed = str(error)
    compile_all(training(), GENTLY)  # which the installation has left out
    sys.exit(failed)


if __name__ == "__main__":
    main()
