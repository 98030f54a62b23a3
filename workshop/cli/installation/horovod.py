"""Building Horovod in this environment: in the foreground (`install`), or as a child of `workshop up`.

Finished parts stay in a folder of the environment, so that an interrupted build continues where it stopped. A
wheel that works is kept in the state folder, for the next environment.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import shutil
import signal
import subprocess
import sys
import tarfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
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

BUILD_SECONDS = 1200.0  # for all of it; compiling takes 2 to 4 minutes on two cores
BESIDE = 6 * 3600.0  # the same at low priority, beside ranks that may take all cores
COMPILERS = ("gcc", "g++", "make")
LOOK = 0.5  # seconds between looks at a step
CHECK = "import horovod.tensorflow as hvd; hvd.init(); assert hvd.size() == 2, hvd.size(); assert hvd.mpi_built()"


def install(seconds: float = BUILD_SECONDS, gives_way: bool = False) -> str:
    """Build Horovod and install it into this environment, unless it is there and works; returns its version.

    Waits for another process that builds it here. Tries it with two ranks, and takes it away again where they don't
    find each other. One that `gives_way` has low priority, and stands still while a run is measured. Raises
    WorkshopError.
    """
    folder, deadline = horovod.folder(), time.monotonic() + seconds
    with _alone(folder / "lock", deadline, "another process that builds it"):
        build_key = horovod.key()
        before = horovod.read(folder).get("built", build_key) if horovod.library() else ""
        if before == build_key and (version := horovod.working()):
            horovod.tell(folder, built=build_key)
            return version
        # Until the new library has been tried, none counts as built with these settings, also after an interruption.
        before = before if before != build_key else ""
        horovod.tell(folder, built=before)
        try:
            version = _build(_Steps(folder / "log", deadline, gives_way), folder)
        except WorkshopError as error:
            horovod.tell(folder, built=before, failed=str(error))
            raise
        finally:
            if horovod.library() is None:  # what somebody else installs later is not what was built here before
                horovod.tell(folder, **{key: text for key, text in horovod.read(folder).items() if key != "built"})
        horovod.tell(folder, built=build_key)
        return version


@contextmanager
def _alone(file: Path, deadline: float, who: str) -> Iterator[None]:
    """Hold a lock alone. Raises WorkshopError where its folder can't be written, or somebody (`who`, for the sentence)
    holds it too long."""
    folder = file.parent
    with ExitStack() as stack:
        try:
            folder.mkdir(exist_ok=True)
            lock = stack.enter_context(open(file, "a"))
        except OSError as error:
            raise WorkshopError(
                f"Horovod can't be built: {folder} can't be written ({error.strerror}); whoever installed this "
                "environment can build it (workshop horovod install)."
            ) from None
        if not processes.lock(lock, deadline):
            raise WorkshopError(f"Horovod can't be built: {who} holds {file} for too long; end it and try again.")
        yield


def _build(steps: _Steps, folder: Path) -> str:
    """Build and install the missing version. Returns Horovod's version."""
    settings = horovod.settings()
    wheel_folder = config.cache_folder("horovod") / horovod.key()
    if not list(wheel_folder.glob("*.whl")):
        _compile(steps, folder, settings, wheel_folder)
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
    version = horovod.built()
    if version is None:
        raise WorkshopError(f"Horovod was installed, but not where {sys.executable} looks for packages.")
    for name in ("tools", "source"):
        shutil.rmtree(folder / name, ignore_errors=True)
    return version


def _compile(steps: _Steps, folder: Path, settings: horovod.Settings, wheel_folder: Path) -> None:
    """Make the wheel and put it into `wheel_folder`; goes on with what an earlier call has compiled."""
    lacking = [program for program in COMPILERS if shutil.which(program) is None]
    if lacking:
        raise WorkshopError(
            f"{', '.join(lacking)} not found; install gcc, g++ and make first (apt-get install gcc g++ make): "
            "Horovod is built with them."
        )
    for package in settings.linked:
        try:
            importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            raise WorkshopError(f"{package} is not installed in {sys.prefix}; Horovod is linked to it.") from None
    source, tools = folder / "source" / horovod.key(), folder / "tools"
    if not source.is_dir():  # of other settings, or none
        for name in ("tools", "source"):
            shutil.rmtree(folder / name, ignore_errors=True)
    # pip, too: uv's environments have none, and uv can't build a wheel with what lies in a folder.
    if not (tools / "whole").exists():
        steps.take([*prefix.installer(), "--target", str(tools), "pip", *settings.build], "its build tools")
        (tools / "whole").touch()
    path = os.pathsep.join([str(tools / "bin"), str(Path(sys.prefix) / "bin"), os.environ.get("PATH", os.defpath)])
    variables = {**settings.variables, "PYTHONPATH": str(tools), "PATH": path, "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    pip, options = [sys.executable, "-P", "-m", "pip"], ["--no-deps", "--no-build-isolation", "--no-cache-dir"]
    if not source.is_dir():
        fetched = folder / "fetched"
        shutil.rmtree(fetched, ignore_errors=True)
        download = [*pip, "download", *options, "--no-binary", ":all:", "--dest", str(fetched), settings.requirement]
        steps.take(download, "the download of its source", variables)
        with tarfile.open(next(fetched.glob("*.tar.gz"))) as packed:
            packed.extractall(fetched, filter="data")
        source.parent.mkdir(parents=True, exist_ok=True)
        next(unpacked for unpacked in fetched.iterdir() if unpacked.is_dir()).rename(source)
        shutil.rmtree(fetched, ignore_errors=True)
    wheels = folder / "wheels"
    shutil.rmtree(wheels, ignore_errors=True)
    # Verbose, for make's percentages, which tell how far it is.
    steps.take([*pip, "wheel", "-v", *options, "--wheel-dir", str(wheels), str(source)], "Horovod", variables)
    wheel_folder.mkdir(parents=True, exist_ok=True)
    wheel = next(wheels.glob("*.whl"))
    half = wheel_folder / f".{wheel.name}"
    shutil.move(wheel, half)
    half.replace(wheel_folder / wheel.name)
    shutil.rmtree(wheels, ignore_errors=True)


class _Steps:
    """Programs one after the other with a common time limit; a file gets their output. On request they have low
    priority, and stand still while a run is measured."""

    def __init__(self, log: Path, deadline: float | None = None, gives_way: bool = False) -> None:
        self.log = log
        self.waits = log.with_name(horovod.WAITS)
        self.deadline = time.monotonic() + BUILD_SECONDS if deadline is None else deadline
        self.gives_way = gives_way
        log.write_text("")
        self.waits.unlink(missing_ok=True)  # an earlier build may have been killed while it stood still

    def take(self, command: Sequence[str], what: str, variables: Mapping[str, str] | None = None) -> None:
        """Run a program to its end. Raises WorkshopError with its last words; leaves no process behind."""
        began = self.log.stat().st_size
        with self.log.open("ab") as log:
            process = subprocess.Popen(
                guarded(
                    [*(GENTLY if self.gives_way else ()), *command], tree=True
                ),  # a compilation is a whole tree of processes, ended together
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
            rested, resting = resting, holder() if self.gives_way else ""
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
        waits = ""
        while not ending.is_set():
            before, waits = waits, horovod.waits(horovod.folder())
            if waits != before:
                self.say(str(horovod.build()))
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
        install(BESIDE, gives_way=True)
    except WorkshopError as error:
        failed = str(error)
    compile_all(training(), GENTLY)  # which the installation has left out
    sys.exit(failed)


if __name__ == "__main__":
    main()
