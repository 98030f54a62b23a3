"""Building Horovod: what is kept of a build, how it is told and how it ends. A whole build takes minutes and is tried
by `make test` in a fresh clone."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from tests.support import limit, need, until
from workshop.cli.installation import horovod as building
from workshop.cli.installation.horovod import HorovodBuild
from workshop.core.errors import WorkshopError
from workshop.mpi import horovod
from workshop.mpi.horovod import Build
from workshop.sessions import measurement_lock
from workshop.sessions.supervisor import Supervisor

pytestmark = pytest.mark.real
PATIENCE = limit(60)  # seconds


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, workshop_home: Path) -> Path:
    """Of an environment in which nothing was built yet."""
    monkeypatch.setattr(horovod, "library", lambda: None)
    monkeypatch.setattr(horovod, "folder", lambda: tmp_path / "horovod-build")
    return tmp_path / "horovod-build"


def test_without_a_compiler(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert shutil.which("gcc") is None
    with pytest.raises(WorkshopError, match=r"gcc, g\+\+, make not found; install .*apt-get install") as error:
        building.install()
    assert "\n" not in str(error.value)
    assert horovod.build() == Build("failed", str(error.value))


@pytest.mark.parametrize("told", [{}, {"built": "of older settings"}], ids=["broken", "old"])
def test_an_old_library_is_none_while_another_one_is_built(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, told: dict[str, str]
) -> None:
    library: list[Path | None] = [tmp_path / "mpi_lib.so"]
    monkeypatch.setattr(horovod, "library", lambda: library[0])
    monkeypatch.setattr(horovod, "working", lambda: None)
    ends, during = [KeyboardInterrupt(), WorkshopError("No g++."), None], []

    def build(*_: object) -> str:
        during.append(horovod.build())
        if (end := ends.pop(0)) is not None:
            raise end
        return "0.28"

    monkeypatch.setattr(building, "_build", build)
    folder.mkdir()
    horovod.tell(folder, **told)
    with pytest.raises(KeyboardInterrupt):
        building.install()
    assert horovod.build() == Build("pending")
    with pytest.raises(WorkshopError):
        building.install()
    assert horovod.build() == Build("failed", "No g++.")
    assert building.install() == "0.28" and horovod.build() == Build("built")
    assert during == [Build("running")] * 3
    # A build that took a library away leaves nothing behind that is held against the next one.
    library[0], ends = None, [WorkshopError("No ranks.")]
    with pytest.raises(WorkshopError):
        building.install()
    assert horovod.build() == Build("failed", "No ranks.")
    library[0] = tmp_path / "mpi_lib.so"
    assert horovod.build() == Build("built"), "by uv"


def test_what_can_not_be_loaded_is_built_again(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, workshop_home: Path
) -> None:
    need(horovod.library(), "Horovod, built by make test")
    broken, whole = tmp_path / "mpi_lib.so", horovod.library().read_bytes()
    monkeypatch.setattr(horovod, "library", lambda: broken)
    monkeypatch.setattr(horovod, "folder", lambda: tmp_path / "horovod-build")
    broken.write_bytes(whole[:5000])  # which ends its loader by a signal
    assert "loading it ended with -" in horovod.fault()
    broken.write_bytes(b"nothing of the kind\n" * 10)
    assert f"{broken}: invalid ELF header" in horovod.fault()
    assert horovod.built() and horovod.working() is None
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(WorkshopError, match=r"g\+\+, make not found"):
        building.install()


def test_a_step_that_fails_says_why(tmp_path: Path) -> None:
    steps = building._Steps(tmp_path / "log")
    steps.take([sys.executable, "-c", "print('error: of an earlier step')"], "nothing")
    code = "print('compiling'); print('x.cc:3:1: error: no such thing'); print('make: failed'); raise SystemExit(2)"
    with pytest.raises(WorkshopError, match=r"the engine failed \(x\.cc:3:1: error: no such thing\)"):
        steps.take([sys.executable, "-c", code], "the engine")


def test_a_step_that_takes_too_long_leaves_nothing_behind(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(building, "BUILD_SECONDS", 1.0)
    steps = building._Steps(tmp_path / "log")
    with pytest.raises(WorkshopError, match="was not built within"):
        steps.take(["bash", "-c", f"sleep 60 & echo $! > {tmp_path}/pid; wait"], "the engine")
    pid = (tmp_path / "pid").read_text().strip()
    until(lambda: _ended(pid), 20, "the child to end")


def test_all_of_a_step_ends_with_who_builds(tmp_path: Path) -> None:
    """Also after kill -9, and what the step itself has started."""
    program = (
        "import sys\nfrom pathlib import Path\nfrom workshop.cli.installation.horovod import _Steps\n"
        f"words = ['bash', '-c', 'sleep 600 & echo $! > {tmp_path}/pid; wait']\n"
        f"_Steps(Path({str(tmp_path / 'log')!r})).take(words, 'the engine')"
    )
    builder = subprocess.Popen([sys.executable, "-c", program])
    try:
        pid = int(until(lambda: (tmp_path / "pid").exists() and (tmp_path / "pid").read_text(), PATIENCE, "the step"))
        assert psutil.pid_exists(pid)
    finally:
        os.kill(builder.pid, signal.SIGKILL)
        builder.wait()
    until(lambda: _ended(str(pid)), PATIENCE, "what the step has started to end")


def test_it_stands_still_while_a_run_is_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measurement_lock, "LOCK", tmp_path / "lock")
    steps = building._Steps(tmp_path / "log")
    command = ["bash", "-c", f"echo $$ > {tmp_path}/pid; until [ -e {tmp_path}/end ]; do sleep 0.1; done"]
    step = threading.Thread(target=steps.take, args=(command, "the engine"))
    with measurement_lock.machine_held("benchmarks kmeans"):
        step.start()
        pid = int(until(lambda: (tmp_path / "pid").exists() and (tmp_path / "pid").read_text(), PATIENCE, "the step"))
        until(lambda: psutil.Process(pid).status() == psutil.STATUS_STOPPED, PATIENCE, "the step to stand still")
        by = until(lambda: horovod.waits(tmp_path), PATIENCE, "the words for whom it waits")
        assert by.startswith(f"process {os.getpid()} (benchmarks kmeans) of user ")
        (tmp_path / "end").touch()
    step.join(PATIENCE)
    assert not step.is_alive() and _ended(str(pid))
    assert not horovod.waits(tmp_path)


@pytest.fixture
def said(folder: Path, request: pytest.FixtureRequest) -> Iterator[list[str]]:
    """What `workshop up` says of a build, a program in place of it."""
    said: list[str] = []
    child = HorovodBuild(said.append, [sys.executable, "-c", request.param.format(folder=folder)])
    supervisor = Supervisor([child], said.append)
    watching = threading.Thread(target=supervisor.watch)
    supervisor.start()
    watching.start()
    until(lambda: not supervisor._answers, PATIENCE, "the end of the build to be heard")
    supervisor.ending.set()
    watching.join(PATIENCE)
    supervisor.stop()
    yield said


FAILS = "import sys; open('{folder}/end.json', 'w').write('{{\"failed\": \"No g++.\"}}'); sys.exit(1)"


@pytest.mark.parametrize("said", [f"import os; os.makedirs('{{folder}}'); {FAILS}"], indirect=True, ids=["fails"])
def test_up_goes_on_without_a_build_that_fails(said: list[str]) -> None:
    assert said[0].startswith("Compiling Horovod in the background") and "all else can be used" in said[0]
    assert said[1:] == [
        "Horovod could not be compiled. No g++. Training exchanges gradients with MPI. "
        "The next `workshop up` tries it again."
    ]


def _ended(pid: str) -> bool:
    state = subprocess.run(["ps", "-o", "state=", "-p", pid], capture_output=True, text=True).stdout.strip()
    return state in ("", "Z")
