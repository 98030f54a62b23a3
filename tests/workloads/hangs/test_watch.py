"""`workshop watch` with real ranks: programs that hang, programs that don't, and what is left of either."""

from __future__ import annotations

import json
import mmap
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support import limit, until
from workshop.cli.main import run
from workshop.core import processes
from workshop.core.placement import Placement
from workshop.mpi import openmpi
from workshop.workloads.hangs.command import TAG
from workshop.workloads.hangs.sampler import look

WORKSHOP = str(Path(sys.prefix) / "bin" / "workshop")
START = "import os, sys, threading, time\nimport numpy as np\nfrom mpi4py import MPI\n"
START += "comm = MPI.COMM_WORLD; rank = comm.rank; x = np.ones(10); y = np.empty(10)\n"


def environment() -> dict[str, str]:
    return os.environ | openmpi.environment() | Placement().rank_environment()


def mpirun(ranks: int, program: Path) -> list[str]:
    ranked = [openmpi.launcher(), "-n", str(ranks), "--map-by", ":OVERSUBSCRIBE", *openmpi.MCA]
    return [*ranked, sys.executable, str(program)]


def watch(program: Path, source: str, *options: str, after: float = 1) -> subprocess.CompletedProcess[str]:
    program.write_text(START + source)
    command = [WORKSHOP, "watch", "--after", str(after), *options, "--", *mpirun(2, program)]
    return subprocess.run(
        command, cwd=program.parent, env=environment(), input="", capture_output=True, text=True, timeout=limit(60)
    )


# Line 5 is the first of a program's own.
HANGS = {
    "wait-for-request": ("if rank: comm.irecv(source=0, tag=3).wait()", "irecv from rank 0, tag 3"),
    "raised": (
        "comm.Allreduce(x if rank else 'no buffer', y)",
        "in Allreduce: TypeError: message: expecting buffer",
    ),
}


@pytest.mark.real
@pytest.mark.parametrize("kind", HANGS)
def test_a_hang_is_named_and_ended(kind: str, tmp_path: Path) -> None:
    source, words = HANGS[kind]
    done = watch(tmp_path / "work.py", source, "--end", "--json")
    document: dict[str, Any] = json.loads(done.stdout)
    assert [diagnosis["kind"] for diagnosis in document["diagnoses"]] == [kind]
    assert words in document["diagnoses"][0]["sentence"]
    assert len(document["diagnoses"][0]["lines"]) == 2
    assert (done.returncode, document["ended"]) == (1, True)


GOOD = """
import pickle
part = comm.Split(rank % 2, rank)
assert isinstance(comm, MPI.Intracomm) and isinstance(part, MPI.Comm) and part.size == 1
assert comm == MPI.COMM_WORLD and pickle.loads(pickle.dumps(comm)) == comm and "Intracomm" in repr(comm)
twin = comm.Dup()
requests = [twin.isend({"a": rank}, 1 - rank), twin.irecv(source=1 - rank)]
assert all(isinstance(request, MPI.Request) for request in [*requests, MPI.REQUEST_NULL])
assert MPI.Request.waitall(requests)[1] == {"a": 1 - rank}
request = comm.Irecv(y, source=MPI.ANY_SOURCE)
comm.Send(x, 1 - rank)
request.Wait()
assert comm.Create_cart([2]).Get_dim() == 1
assert comm.Create_group(comm.group).allreduce(1) == 2
assert comm.recv(source=MPI.ANY_SOURCE) == 1 if rank else comm.send(1, 1) is None
time.sleep(4 * rank)
comm.Ibarrier().Wait()
ranks = comm.allgather(rank)
print(ranks, sys.argv, flush=True) if rank == 0 else None
sys.exit(3 * rank)
"""


@pytest.mark.real
def test_a_good_program_runs_as_without_it(tmp_path: Path) -> None:
    """A rank that sleeps is worth a note and no more."""
    program = tmp_path / "work.py"
    watched = watch(program, GOOD, "--end")
    alone = subprocess.run(
        mpirun(2, program), cwd=tmp_path, env=environment(), input="", capture_output=True, text=True, timeout=limit(60)
    )
    assert (watched.returncode, watched.stdout) == (alone.returncode, alone.stdout) == (3, f"[0, 1] ['{program}']\n")
    assert "Rank 1 sleeps, at work.py:" in watched.stderr
    assert "Traceback" not in watched.stderr


@pytest.mark.real
def test_many_calls_are_no_hang(tmp_path: Path) -> None:
    source = "for number in range(3000):\n    comm.Allreduce(x, y)\n    time.sleep(0.0005)\nprint(y[0], flush=True)"
    done = watch(tmp_path / "work.py", source, "--end", after=0.5)
    assert (done.returncode, done.stdout) == (0, "2.0\n2.0\n")
    assert "Fix" not in done.stderr


@pytest.mark.real
@pytest.mark.parametrize(
    "how", [signal.SIGKILL, signal.SIGTERM, pytest.param(signal.SIGHUP, marks=pytest.mark.exhaustive)]
)
def test_nothing_is_left_when_it_is_killed(how: signal.Signals, tmp_path: Path) -> None:
    program = tmp_path / "work.py"
    program.write_text(START + "open(f'{rank}.up', 'w').close()\ncomm.recv(source=1 - rank)")
    folders = tmp_path / "folders"
    folders.mkdir()
    command = [WORKSHOP, "watch", "--", *mpirun(2, program)]
    watching = subprocess.Popen(command, cwd=tmp_path, env=environment() | {"TMPDIR": str(folders)})
    try:
        until(lambda: len(list(tmp_path.glob("*.up"))) == 2, 30, "two ranks")
        tags = {process.environ().get(TAG) for process in processes.family(watching.pid)[1:]} - {None}
        [tag] = tags
    finally:
        watching.send_signal(how)
        code = watching.wait()
    until(lambda: not processes.tagged(TAG, str(tag)), 20, "the end of all processes")
    if how != signal.SIGKILL:
        assert code == 128 + how and not list(folders.glob("workshop-watch-*"))


@pytest.mark.real
def test_ranks_of_horovod_are_told_as_such(tmp_path: Path) -> None:
    library = tmp_path / "horovod" / "library.so"
    library.parent.mkdir()
    library.write_bytes(b"code")
    with library.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ):
        state = look(0, os.getpid())
    assert (state.does, state.detail) == ("unknown", "Horovod makes its MPI calls")
    assert look(0, os.getpid()).detail != state.detail


@pytest.mark.real
def test_ranks_without_python_are_said_to_be_unseen(tmp_path: Path) -> None:
    command = [WORKSHOP, "watch", "--after", "1", "--", openmpi.launcher(), "-n", "1", "sleep", "1000"]
    with subprocess.Popen(command, cwd=tmp_path, env=environment(), stderr=subprocess.PIPE, text=True) as watching:
        assert watching.stderr is not None
        try:
            told = next(line for line in watching.stderr if "Nothing moves" in line)
        finally:
            watching.send_signal(signal.SIGTERM)
    assert "no MPI call of rank 0 can be seen" in told and "it runs no Python" in told


@pytest.mark.parametrize(
    "words, text",
    [
        (["watch"], "watch has no command"),
        (["watch", "--", "no-such-program", "-n", "4"], "no program no-such-program"),
        (["watch", "--after", "11", "--", "true"], "less than or equal to 10"),
    ],
)
def test_a_wrong_command_is_refused(words: list[str], text: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(words) == 2
    assert text in capsys.readouterr().err
