"""Ranks that are forked: that they are what a launcher would have started, and end as that would."""

from __future__ import annotations

import ctypes
import os
import signal
import socket
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import psutil
import pytest

from tests import mpis
from tests.live_session import Session
from tests.support import until
from workshop.core import processes
from workshop.core.placement import Placement
from workshop.sessions import lifecycle
from workshop.sessions.fork import child, stub
from workshop.sessions.fork.child import PR_SET_CHILD_SUBREAPER, forkable
from workshop.store.records import RunRecord
from workshop.store.store import Store

TWO = Placement(ranks=2)
# What asks for a variable that libraries read gets ranks that import for themselves.
PLAIN = {"WORKSHOP_TEST": "1"}
RANK = ("OMPI_COMM_WORLD_RANK", "PMI_RANK")  # what launchers tell ranks


def body(numbers: bytes = b"0,1,7") -> bytes:
    words = [b"/tmp", numbers, b"0,2", b"18", b"2", b"--mpi", b"--log=a b", b"A=1", b"B=x=y", b"EMPTY="]
    return b"\0".join(words)


def test_a_request_as_a_stub_writes_it() -> None:
    read = child.parsed(body(), [10, 11, 12])
    assert read.descriptors == {0: 10, 1: 11, 7: 12}
    assert (read.folder, read.cores, read.mask) == ("/tmp", {0, 2}, 0o22)
    assert read.arguments == ["--mpi", "--log=a b"]
    assert read.variables == {b"A": b"1", b"B": b"x=y", b"EMPTY": b""}


@pytest.mark.parametrize("wrong", [body(numbers=b"0,1"), b"", body()[:12]])
def test_what_is_no_request(wrong: bytes) -> None:
    with pytest.raises(ValueError):
        child.parsed(wrong, [10, 11, 12])


def test_a_request_over_its_socket_and_one_that_breaks_off() -> None:
    ours, theirs = socket.socketpair()
    with closing(ours), closing(theirs), open(os.devnull) as null:
        told = body(numbers=b"0")
        socket.send_fds(theirs, [len(told).to_bytes(8, "big")], [null.fileno()])
        theirs.sendall(told)
        read = child.read(ours)
        assert os.path.samestat(os.fstat(read.descriptors[0]), os.fstat(null.fileno()))
        read.close()
        before = os.listdir("/proc/self/fd")
        socket.send_fds(theirs, [len(told).to_bytes(8, "big")], [null.fileno()])
        theirs.sendall(told[:-3])
        theirs.shutdown(socket.SHUT_WR)
        with pytest.raises(ConnectionError):
            child.read(ours)
        assert len(os.listdir("/proc/self/fd")) == len(before), "what came along is closed"


def test_which_variables_forked_ranks_can_have() -> None:
    assert forkable({"OMP_NUM_THREADS": "2", "OMPI_MCA_pml": "ob1", "HOROVOD_CYCLE_TIME": "1"})
    assert not forkable({"XLA_FLAGS": "--any"})
    assert not forkable({"OMP_PROC_BIND": "close"})


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory, kernels: Path) -> Iterator[Session]:
    with pytest.MonkeyPatch.context() as patch:
        home = tmp_path_factory.mktemp("fork")
        patch.setenv("WORKSHOP_HOME", str(home))
        patch.delenv("WORKSHOP_DATABASE_URL", raising=False)
        mpis.use(home, "mpich", "intelmpi")
        (home / "cache" / "numba").symlink_to(kernels)
        with Store.open() as store, lifecycle.private_session(store, TWO) as record:
            yield Session(store, record, home)


def clustered(session: Session, **more: object) -> RunRecord:
    """A k-means that lasts until it is ended, unless it is told otherwise."""
    params = {"data": "blobs", "points": 20_000, "iterations": 10_000, "tolerance": 0, "pace": 1.0, **more}
    return session.submit("kmeans", TWO, **params)


def works(session: Session, placement: Placement = TWO) -> RunRecord:
    run = session.submit("kmeans", placement, data="blobs", points=20_000, iterations=3, tolerance=0)
    ended = session.wait(run, 120)
    assert ended.status == "completed", ended.error
    return ended


def ranks(run: RunRecord) -> list[psutil.Process]:
    assert run.rank_map is not None
    return [psutil.Process(rank["pid"]) for rank in run.rank_map["ranks"]]


def server(session: Session, trains: bool = False) -> psutil.Process:
    """The one that has imported nothing for training, or the one that has; a child of the conductor."""
    conductor = psutil.Process(session.now.conductor_pid or 0)
    commands = {child: processes.command(child) for child in conductor.children()}
    return next(
        child
        for child, words in commands.items()
        if "workshop.sessions.fork.server" in words and ("tensorflow" in words) == trains
    )


def stubs(session: Session) -> list[psutil.Process]:
    conductor = psutil.Process(session.now.conductor_pid or 0)
    there = [child for child in conductor.children(recursive=True) if stub.__file__ in processes.command(child)[3:4]]
    return sorted(there, key=lambda child: next(child.environ()[name] for name in RANK if name in child.environ()))


MPIS = ["openmpi", *(pytest.param(name, marks=pytest.mark.exhaustive) for name in ("mpich", "intelmpi"))]


@pytest.mark.real
@pytest.mark.parametrize("mpi", MPIS)
def test_forked_ranks_are_like_those_that_a_launcher_starts(shared: Session, mpi: str) -> None:
    placement = Placement(mpi=mpi, ranks=2, threads=2)
    plain = works(shared, placement.model_copy(update={"environment": PLAIN}))
    assert not stubs(shared)
    run = works(shared, placement)
    assert len(stubs(shared)) == 2
    for one, rank in zip(ranks(run), run.rank_map["ranks"], strict=True):
        assert one.ppid() == server(shared).pid
        variables = one.environ()
        assert variables[processes.TAG] == processes.session_tag(shared.record.id)
        assert variables[processes.ENGINES_TAG]
        assert one.cpu_affinity() == rank["units"]
        assert not one.children(), "an engine has no nanny"
    for forked, started in zip(run.rank_map["ranks"], plain.rank_map["ranks"], strict=True):
        assert forked["units"] == started["units"]
        # Python's own threads come and go; on a busy machine one more or less is up at that moment.
        assert {thread["name"] for thread in forked["threads"]} == {thread["name"] for thread in started["threads"]}
    assert processes.ENGINES_TAG not in server(shared).environ(), "it doesn't end with its ranks"


@pytest.mark.real
@pytest.mark.parametrize("mpi", MPIS)
@pytest.mark.parametrize("which", ["rank", "stub"])
def test_kill_9_of_a_rank_and_of_its_stub(shared: Session, mpi: str, which: str) -> None:
    placement = Placement(mpi=mpi, ranks=2)
    works(shared, placement)
    run = shared.submit("kmeans", placement, data="blobs", points=20_000, iterations=10_000, tolerance=0, pace=1.0)
    shared.started(run, "inertia")
    there = ranks(shared.store.run(run.id))
    if which == "rank":
        there[1].kill()
    else:
        stubs(shared)[1].kill()
    ended = shared.wait(run)
    assert ended.status == "failed" and ended.error is not None
    assert (ended.error["type"], ended.error["rank"]) == ("RankDied", 1), ended.error
    assert f"process {there[1].pid}" in ended.error["message"] and "SIGKILL" in ended.error["message"]
    until(lambda: not any(processes.alive(one) for one in there), 20, "both ranks to end")
    works(shared, placement)


@pytest.mark.real
def test_kill_9_of_the_server(shared: Session) -> None:
    run = clustered(shared)
    shared.started(run, "inertia")
    there, before = ranks(shared.store.run(run.id)), server(shared)
    before.kill()
    ended = shared.wait(run)
    assert ended.status == "failed" and ended.error is not None
    assert ended.error["type"] == "RankServerDied" and str(before.pid) in ended.error["message"]
    until(lambda: not any(processes.alive(one) for one in there), 20, "the ranks to end with it")
    works(shared)
    assert server(shared) != before


@pytest.mark.real
def test_kill_9_of_a_rank_while_the_server_is_stopped(shared: Session) -> None:
    run = clustered(shared)
    shared.started(run, "inertia")
    one, before = ranks(shared.store.run(run.id))[1], server(shared)
    before.suspend()  # so the launcher is not told
    one.kill()
    ended = shared.wait(run)
    assert ended.error is not None and (ended.error["type"], ended.error["rank"]) == ("RankDied", 1), ended.error
    assert f"process {one.pid}" in ended.error["message"] and "SIGKILL" in ended.error["message"]
    works(shared)
    assert server(shared) != before, "one that doesn't answer is replaced"


@pytest.mark.real
def test_an_end_leaves_nothing_for_others_to_collect(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORKSHOP_HOME", str(tmp_path))
    monkeypatch.delenv("WORKSHOP_DATABASE_URL", raising=False)
    adopt = ctypes.CDLL(None).prctl
    adopt(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    try:
        with Store.open() as store, lifecycle.private_session(store, TWO) as record:
            session = Session(store, record, tmp_path)
            run = session.submit("mnist", TWO, data="digits", steps=4, checkpoint="off", trace=0)
            assert session.wait(run, 240).status == "completed"
            forked = {child.pid for child in server(session, trains=True).children(recursive=True)}
            assert len(forked) == 2
        assert not forked & {child.pid for child in psutil.Process().children()}
    finally:
        adopt(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)


@pytest.mark.real
def test_a_rank_that_leaves_by_itself_has_its_exit_code(shared: Session) -> None:
    works(shared)
    one = stubs(shared)[0]
    one.send_signal(signal.SIGTERM)  # which goes on to the rank, and that stops
    until(lambda: not processes.alive(one), 20, "the stub to end with its rank")
    works(shared)


@pytest.mark.real
def test_ranks_that_train_have_imported_once_and_have_their_threads(shared: Session) -> None:
    placement = Placement(ranks=2, threads=2)
    params = {"data": "digits", "steps": 4, "checkpoint": "off", "trace": 0}

    def trained(where: Placement) -> RunRecord:
        ended = shared.wait(shared.submit("mnist", where, **params), 240)
        assert ended.status == "completed", ended.error
        return ended

    run = trained(placement)
    trainer = ranks(run)[0].parent()
    assert trainer == server(shared, trains=True)
    again = trained(placement)
    assert ranks(again) == ranks(run), "equal placements share ranks"
    plain = trained(placement.model_copy(update={"environment": PLAIN}))
    counted = [
        [{kind: told["count"] for kind, told in census.items()} for census in one.metrics["threads"]]
        for one in (run, plain)
    ]
    assert counted[0] == counted[1]

    assert ranks(works(shared))[0].ppid() == server(shared).pid, "ranks that don't train have nothing of it"
    run = shared.submit("mnist", placement, **params | {"steps": 100_000})
    shared.started(run, "loss")
    trainer.kill()
    ended = shared.wait(run)
    assert ended.error is not None and ended.error["type"] == "RankServerDied", ended.error
    works(shared)
    run = trained(placement)
    assert ranks(run)[0].parent() != trainer


@pytest.mark.real
def test_a_session_without_a_run_imports_for_those_that_train(session: Session) -> None:
    own = {rank["pid"] for rank in session.now.rank_map["ranks"]}
    conductor = psutil.Process(session.now.conductor_pid or 0)
    until(
        lambda: any("tensorflow" in processes.command(child) for child in conductor.children()), 120, "its own server"
    )
    assert {rank["pid"] for rank in session.now.rank_map["ranks"]} == own
