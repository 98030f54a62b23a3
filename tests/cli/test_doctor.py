"""Doctor: what it says of this machine, and of one that lacks something."""

from __future__ import annotations

import fcntl
import json
import os
import resource
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from io import StringIO
from pathlib import Path

import psutil
import pytest
from rich.console import Console

from benchmarks.dashboard import served
from tests.control_groups import control_group, inside
from tests.report.analysis.cases import machine
from tests.support import limit, need, until
from workshop.cli import doctor
from workshop.core import config, topology
from workshop.core.memory import Gauge
from workshop.core.ports import free_port
from workshop.extension import Check
from workshop.mpi import horovod, openmpi
from workshop.store.store import Store


def named(found: list[Check], name: str) -> Check:
    return next(check for check in found if check.name == name)


@contextmanager
def taken_port() -> Iterator[int]:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        yield listener.getsockname()[1]


@pytest.mark.real
def test_this_machine(workshop_home: Path) -> None:
    before = set(sys.modules)
    found = doctor.checks(free_port())
    for name in ("Python", "Memory", "Shared memory", "MPI", "State folder", "Store", "Port"):
        assert named(found, name).ok, named(found, name)
    assert "2 ranks started and summed" in named(found, "MPI").detail
    assert json.loads(json.dumps(doctor.as_json(found)))["checks"][0]["name"] == "Python"
    assert [child for child in psutil.Process().children(recursive=True) if "mpirun" in child.name()] == []
    assert not {"horovod", "tensorflow"} & (set(sys.modules) - before)


@pytest.mark.real
def test_the_centre_s_mpi(workshop_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    need(shutil.which("mpirun.mpich") and shutil.which("mpirun.openmpi"), "Debian's openmpi-bin and mpich")
    for family, title in {"openmpi": "Open MPI", "mpich": "MPICH"}.items():
        monkeypatch.setenv("WORKSHOP_MPI_LAUNCHER", f"mpirun.{family}")
        check = doctor._system_mpi()
        assert check.ok and "2 ranks started and summed" in check.detail, check
        assert f"ABI of {title}, library /usr/lib" in check.detail
    monkeypatch.delenv("WORKSHOP_MPI_LAUNCHER")
    monkeypatch.setenv("PATH", str(Path(sys.prefix) / "bin"))
    assert doctor._system_mpi().detail.startswith("none on PATH"), "the environment's own doesn't count"
    monkeypatch.setenv("WORKSHOP_MPI_LAUNCHER", "mpirun.nosuch")
    check = doctor._system_mpi()
    assert not check.ok and not check.needed and "mpirun.nosuch is not a program on PATH" in check.fix


@pytest.mark.real
def test_memory_is_what_we_may_have_and_not_what_the_host_has() -> None:
    assert ("the limit of this container" in doctor._memory().detail) == Gauge().tightest().group
    program = "import json; from workshop.cli import doctor; from dataclasses import asdict\n"
    program += "print(json.dumps(asdict(doctor._memory())))"
    with control_group(600 << 20) as folder:
        told = subprocess.run(
            inside(folder, [sys.executable, "-c", program]), capture_output=True, text=True, timeout=limit(60)
        )
    assert told.returncode == 0, told.stderr
    found = json.loads(told.stdout)
    assert "of 600 MiB available, the limit of this container or job" in found["detail"]
    assert not found["ok"] and "about 2 GiB" in found["fix"]


def test_variables_are_named_that_sessions_leave_out_or_that_change_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PBS_JOBID", "12.x")
    monkeypatch.setenv("KERAS_BACKEND", "jax")
    monkeypatch.setenv("UCX_TLS", "tcp")
    for name, value in openmpi.WITHOUT.items():
        monkeypatch.setenv(name, value)  # by our JupyterLab
    check = doctor._variables()
    assert not check.ok and not check.needed and "--env" in check.fix
    for name in ("PBS_JOBID", "KERAS_BACKEND", "UCX_TLS"):
        assert name in check.detail
    assert "OMPI_MCA_btl" not in check.detail


def test_limits_and_allowed_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "open files" in doctor._limits().detail and doctor._limits().ok
    monkeypatch.setattr(resource, "getrlimit", lambda kind: (256, 256))
    assert not doctor._limits().ok and "open files" in doctor._limits().fix
    monkeypatch.setattr(topology, "machine", lambda: machine(8))
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {0, 5})
    check = doctor._cores()
    assert check.detail.startswith("2 of 8") and "it may use 2 of 8" in check.fix


def test_what_helps_where_horovod_is_not_built(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(horovod, "library", lambda: None)
    monkeypatch.setattr(horovod, "folder", lambda: tmp_path)
    check = doctor._horovod()
    assert "`workshop up` compiles it in the background" in check.detail and "workshop horovod install" in check.fix
    assert not check.ok and not check.needed, "training exchanges gradients with MPI"
    with open(tmp_path / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        check = doctor._horovod()
        assert (check.ok, check.fix) == (False, "") and "is being compiled" in check.detail
        (tmp_path / horovod.WAITS).write_text("process 7 (benchmarks kmeans) of user anna")
        assert "waits for process 7" in doctor._horovod().detail
    monkeypatch.setattr(config, "_DATA", tmp_path)  # as in a wheel
    assert "workshop up" not in doctor._horovod().detail


@pytest.mark.real
def test_a_program_that_takes_too_long_leaves_nothing_behind(tmp_path: Path) -> None:
    note = tmp_path / "pid"
    child = f"import os, time; open({str(note)!r}, 'w').write(str(os.getpid())); time.sleep(60)"
    parent = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {child!r}], start_new_session=True)"
    code, _, _ = doctor._run([sys.executable, "-c", parent], 6.0, {})  # in which two Pythons start
    assert code is None
    # Its adopted parent may take a moment to notice that it has ended.
    until(lambda: not psutil.pid_exists(int(note.read_text())), 20, "the child to be gone")


def test_an_environment_without_open_mpi(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    check = doctor._mpi()
    assert not check.ok and check.needed and "mpirun" in check.fix


@pytest.mark.real
def test_a_port_in_use(workshop_home: Path) -> None:
    with taken_port() as port:
        check = doctor._port(port)
        assert not check.ok and str(port) in check.fix and "--port" in check.fix
    with served() as (_, port):
        check = doctor._port(free_port())
        assert check.ok and f"the dashboard is up at http://127.0.0.1:{port}" in check.detail


def test_a_state_folder_that_cannot_be_made(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("WORKSHOP_HOME", str(tmp_path / "file" / "home"))
    monkeypatch.delenv("WORKSHOP_DATABASE_URL", raising=False)
    for check in (doctor._state_folder(), doctor._store()):
        assert not check.ok and str(tmp_path) in check.fix and "WORKSHOP_HOME" in check.fix


def test_rendered_at_80_columns() -> None:
    found = [
        Check("Python", True, "Python 3.11.2 on Linux x86_64"),
        Check("MPI", False, "2 ranks did not answer within 12 s " * 4, "See what else keeps the machine busy."),
        Check("Chromium", False, "not found", "Install it for the browser tests.", needed=False),
    ]
    out = StringIO()
    doctor.render(found, Console(file=out, width=80))
    lines = out.getvalue().splitlines()
    assert max(map(len, lines)) <= 80
    assert lines[0].startswith("ok") and any(line.startswith("fix   MPI") for line in lines)
    assert any(line.startswith("note  Chromium") for line in lines)
    assert lines[-1] == "To fix: MPI."
    assert doctor.as_json(found)["ok"] is False
    assert doctor.as_json([found[0], found[2]])["ok"] is True


def test_the_store_is_named_without_its_password(workshop_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORKSHOP_DATABASE_URL", "postgresql://me:hunter2@127.0.0.1:1/none")
    check = doctor._store()
    assert not check.ok and "127.0.0.1" in check.fix and "hunter2" not in check.fix
    monkeypatch.delenv("WORKSHOP_DATABASE_URL")
    with Store.open() as store:
        assert store.database.where == str(workshop_home / "workshop.db")
