"""Leases of real sessions: the queue waits, one holder at a time, and whatever dies, nobody is left waiting."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psutil
import pytest
from ipyparallel.error import IPythonError

from tests.conftest import leftovers
from tests.sessions import Session, why_gone
from tests.support import limit, starts_processes, until
from workshop.core.errors import BadInput, WorkshopError
from workshop.core.placement import Placement
from workshop.report.run_sections import SessionLook, turn
from workshop.runtime import client, lease, lease_manager, lifecycle
from workshop.runtime.lease import HeldRanks
from workshop.store.records import Lease, SessionRecord
from workshop.store.store import Store

pytestmark = pytest.mark.real
SHORT = {"data": "blobs", "points": 1000, "clusters": 2, "iterations": 2, "backend": "numpy"}
LONG = {**SHORT, "mode": "online", "batch": 10, "pace": 10}  # 100 steps
# A notebook's kernel, as far as a lease knows of it: it takes the ranks, then does what it is told line by line.
HOLDER = """
import json, os, sys
from workshop.core.errors import WorkshopError
from workshop.runtime import lease
from workshop.store.store import Store
store = Store.open()
def answer(word): print(json.dumps(word), flush=True)
answer(os.getpid())
try:
    held = lease.take(store, store.session(sys.argv[1]), sys.argv[2], timeout=100)
    answer("held")
    for line in sys.stdin:
        if line == "ranks\\n": answer(held.ranks.view.apply_sync(os.getpid))
        if line == "release\\n": held.release(); answer("released")
        if line == "check\\n": answer(held.check().state)
except WorkshopError as error:
    answer(str(error))
"""


class Notebook:
    """Such a kernel; it has asked for the ranks when this is made."""

    def __init__(self, session: Session, holder: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", HOLDER, session.record.name, holder],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.pid = self.hear()
        self.lease: Lease = until(lambda: self._asked(session), 60, f"{holder} to ask")

    def _asked(self, session: Session) -> Lease | None:
        return next((one for one in session.store.leases(session.record.id) if one.pid == self.pid), None)

    def hear(self) -> Any:
        assert self._process.stdout is not None
        return json.loads(self._process.stdout.readline())

    def ask(self, word: str) -> Any:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{word}\n")
        self._process.stdin.flush()
        return self.hear()

    def end(self) -> None:
        self._process.kill()
        self._process.communicate()


@pytest.fixture
def notebook(shared: Session) -> Iterator[Any]:
    """Makes them, and ends those that are left."""
    made: list[Notebook] = []

    def make(holder: str) -> Notebook:
        made.append(Notebook(shared, holder))
        return made[-1]

    yield make
    for one in made:
        one.end()


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A state folder for all of them, where no process may be left."""
    folder = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WORKSHOP_HOME", str(folder))
        patch.delenv("WORKSHOP_DATABASE_URL", raising=False)
        yield folder
    left = leftovers(folder)
    for process in left:
        process.kill()
    assert not left, f"processes were left behind: {left}"


@contextmanager
def up(home: Path, name: str, **how: Any) -> Iterator[Session]:
    """A session of two ranks."""
    with Store.open() as store:
        record, conductor = lifecycle.start_session(store, name, Placement(ranks=2), **how)
        yield Session(store, lifecycle.wait_ready(store, record, conductor), home)
        lifecycle.stop_session(store, name)
        conductor.wait(limit(10))


@pytest.fixture(scope="module")
@starts_processes
def shared(home: Path) -> Iterator[Session]:
    with up(home, "class") as session:
        yield session


@pytest.fixture(scope="module")
@starts_processes
def own(home: Path) -> Iterator[Session]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WORKSHOP_MEMORY", "600M")  # as its conductor has it
        with up(home, "cells", private=True) as session:
            yield session


@pytest.fixture(scope="module")
def held(own: Session) -> Iterator[HeldRanks]:
    """That session's ranks, from the first test that wants them on."""
    with lease.take(own.store, own.record, "ada's notebook", learner=True) as taken:
        yield taken


def pids(session: Session) -> list[int]:
    return [report["pid"] for report in (session.now.rank_map or {})["ranks"]]


def test_the_queue_waits_while_somebody_has_the_ranks(shared: Session, notebook: Any) -> None:
    store = shared.store
    running = shared.submit("kmeans", **LONG)
    until(lambda: store.run(running.id).status == "running", 60, "the run to begin")
    with pytest.raises(BadInput, match="Only the instructor can take the ranks of session class"):
        lease.take(store, shared.now, "eve's notebook", learner=True)
    with pytest.raises(WorkshopError, match=rf"not free within 1 s \(run {running.id}, k-means, goes on\); try again"):
        lease.take(store, shared.now, "bob's notebook", timeout=1)
    with pytest.raises(WorkshopError, match="Waiting for the ranks of session"):
        lease.take(store, shared.now, "bob's notebook", give_up=lambda: True)
    assert store.leases(shared.record.id) == [], "who has given up wants nothing"

    ada = notebook("ada's notebook")
    waiting = shared.submit("kmeans", **SHORT)
    assert turn(store, waiting) == "Number 1 in the queue, after ada's notebook, which gets the ranks first."
    before = pids(shared)
    time.sleep(0.5)
    assert (store.lease(ada.lease.id).state, store.run(running.id).status) == ("wanted", "running"), "it goes on"
    client.cancel(store, running.id)
    assert ada.hear() == "held"
    assert shared.wait(running).status == "cancelled"
    until(lambda: shared.now.state == "leased", 10, "the session to be leased")
    assert shared.now.message == "ada's notebook has the ranks"
    assert ada.ask("ranks") == pids(shared) and not set(pids(shared)) & set(before), "fresh ones, in rank order"
    assert turn(store, waiting) == "Number 1 in the queue, after ada's notebook, which has the ranks."
    seen = {name: json.loads(part) for name, part in SessionLook(store, "class")().items()}
    assert (seen["session"]["state"], seen["session"]["words"]) == ("leased", "Ada's notebook has the ranks.")
    assert [row["wait"] for row in seen["queue"]["waiting"]] == ["after ada's notebook"]
    time.sleep(1)
    assert store.run(waiting.id).status == "queued"

    lent = pids(shared)
    assert ada.ask("release") == "released"
    ended = shared.wait(waiting)
    assert ended.status == "completed", ended.error
    assert not set(lent) & {report["pid"] for report in ended.rank_map["ranks"]}, "lent ranks are thrown away"
    until(lambda: not any(psutil.pid_exists(pid) for pid in lent), 20, "the lent ranks to be gone")


def test_holders_take_turns_and_kill_9_of_one_lets_the_next_have_them(shared: Session, notebook: Any) -> None:
    store = shared.store
    ada, bob, eve = (notebook(f"{name}'s notebook") for name in ("ada", "bob", "eve"))
    assert ada.hear() == "held"
    first = ada.ask("ranks")
    wanted = json.loads(SessionLook(store, "class")()["session"])["wanted"]
    assert wanted == "The ranks are wanted next by bob's notebook, eve's notebook."
    with pytest.raises(WorkshopError, match=r"not free within 0.3 s \(ada's notebook has the ranks\)"):
        lease.take(store, shared.now, "zoe's notebook", timeout=0.3)
    waiting = shared.submit("kmeans", **SHORT)

    os.kill(ada.pid, 9)
    until(lambda: store.lease(ada.lease.id).state == "ended", 20, "the lease of the dead to end")
    assert store.lease(ada.lease.id).why == "ada's notebook was gone"
    assert bob.hear() == "held", "who has waited longest is next"
    assert not set(bob.ask("ranks")) & set(first)
    assert store.lease(eve.lease.id).state == "wanted"
    assert store.run(waiting.id).status == "queued"

    assert client.reclaim(store, shared.now) == ["bob's notebook", "eve's notebook"]
    assert bob.ask("check") == (
        "The ranks of session class are ours no longer: the instructor took them back; take them again."
    )
    assert eve.hear() == "The ranks of session class were not lent: the instructor took them back; try again."
    ended = shared.wait(waiting)
    assert ended.status == "completed", ended.error
    with pytest.raises(BadInput, match="No notebook has the ranks of session class"):
        client.reclaim(store, shared.now)


def test_who_is_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [0.0]  # seconds
    monkeypatch.setattr(lease_manager, "time", SimpleNamespace(monotonic=lambda: clock[0]))
    me = psutil.Process()
    lender: Any = lease_manager.LeaseManager(None)  # what it asks here needs no conductor

    def lease_of(pid: int, began: float, host: str = socket.gethostname(), beat: float = 5.0, id: int = 1) -> Lease:
        return Lease(id, 1, "ada", host, pid, began, "held", "", 1.0, beat, 1.0, None)

    assert not lender._gone(lease_of(me.pid, me.create_time()))
    assert lender._gone(lease_of(me.pid, me.create_time() - 60, id=2)), "another process of that number"
    assert not lender._gone(lease_of(me.pid, me.create_time() - 60)), "known already, and somebody set the clock"
    with subprocess.Popen([sys.executable, "-c", ""]) as ended:
        began = psutil.Process(ended.pid).create_time()
        until(
            lambda: lender._gone(lease_of(ended.pid, began, id=3)),
            20,
            "one that nobody has waited for to count as gone",
        )
    assert lender._gone(lease_of(ended.pid, began, id=3))
    # On another host, whose clock may be wrong, by its heartbeat.
    assert not lender._gone(lease_of(1, 1.0, "elsewhere"))
    clock[0] += 0.6 * lease_manager.SILENT
    assert not lender._gone(lease_of(1, 1.0, "elsewhere", beat=7.0))
    clock[0] += 0.6 * lease_manager.SILENT
    assert not lender._gone(lease_of(1, 1.0, "elsewhere", beat=7.0))
    clock[0] += 0.6 * lease_manager.SILENT
    assert lender._gone(lease_of(1, 1.0, "elsewhere", beat=7.0))


def test_ranks_are_given_back_when_the_store_answers_again(own: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    """A holder that lives on must not keep others waiting, whatever the store said when it let go."""
    store, refusals = own.store, iter((True, True))
    me = psutil.Process()
    asked = store.ask_lease(own.record.id, "ada's notebook", "elsewhere", me.pid, me.create_time())
    end_lease = store.end_lease

    def busy(lease_id: int, why: str = "") -> bool:
        if next(refusals, False):
            raise WorkshopError("The store doesn't answer.")
        return end_lease(lease_id, why)

    monkeypatch.setattr(store, "end_lease", busy)
    monkeypatch.setattr(lease, "HEARTBEAT", 0.1)
    HeldRanks(store, own.now, asked).release()
    until(lambda: store.lease(asked.id).state == "ended", 20, "the lease to end")
    assert store.lease(asked.id).why == "", "its holder has ended it"


class Troubled:
    """A conductor as far as lending knows one, whose store doesn't answer when it first says who has the ranks."""

    def __init__(self, store: Store, session: SessionRecord) -> None:
        self.store, self.session, self.id = store, session, session.id
        self.ending = threading.Event()
        self.cluster: Any = SimpleNamespace(engines=None, alive=False, stop_engines=lambda: None)
        self.said: list[str] = []

    def say(self, state: str, message: str) -> None:
        self.said.append(state)
        if self.said.count("leased") == 1 and state == "leased":
            raise WorkshopError("The store doesn't answer.")
        self.store.update_session(self.id, state=state, message=message)

    def bring_up(self, placement: Placement, state: str, message: str) -> None:
        self.store.update_session(self.id, state=state, message=message)


def test_a_holder_hears_of_its_ranks_also_after_an_error_of_the_store(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = store.create_session("troubled", Placement(ranks=2).as_json())
    me = psutil.Process()
    asked = store.ask_lease(session.id, "ada's notebook", socket.gethostname(), me.pid, me.create_time())
    conductor: Any = Troubled(store, session)
    lender = lease_manager.LeaseManager(conductor)
    seen: list[str] = []

    def watch(_: Lease) -> str | None:
        seen.append(store.session(session.id).state)
        return None

    monkeypatch.setattr(lender, "_until_gone", watch)
    with pytest.raises(WorkshopError, match="doesn't answer"):
        lender.serve()
    assert store.lease(asked.id).state == "held"
    assert lender.serve()
    assert seen == ["leased"], "while it waits for ranks, it looks for this"


def test_ones_own_ranks_are_there_at_once(own: Session, held: HeldRanks) -> None:
    ranks = held.ranks
    assert ranks.view.apply_sync(os.getpid) == pids(own), "those that were up, since nobody had used them"
    assert ranks.size == 2 and ranks.alive and held.ranks is ranks
    assert held.check().state == "leased"
    with pytest.raises(BadInput, match="has the ranks of session cells already"):
        lease.take(own.store, own.now, "ada's notebook")


def test_kill_9_of_a_rank_and_a_reset_go_on_with_the_lease(own: Session, held: HeldRanks) -> None:
    before = held.ranks
    working = before.view.apply_async(time.sleep, 600)
    os.kill(pids(own)[1], 9)
    with pytest.raises(IPythonError):
        working.get(limit(60))
    why = held.why_gone(60)
    assert why.startswith("rank 1 (process ") and why.endswith("was ended by SIGKILL")
    after = held.ranks
    assert after is not before and not before.alive
    assert after.view.apply_sync(os.getpid) == pids(own)

    own.store.request_reset(own.record.id)
    assert held.why_gone(60) == "the instructor reset the session"
    until(lambda: held.ranks is not after, 60, "other ranks")
    assert held.ranks.view.apply_sync(os.getpid) == pids(own)
    assert own.store.lease(held.lease_id).state == "held"


def test_ranks_that_are_stuck_are_replaced(own: Session, held: HeldRanks) -> None:
    ranks, before = held.ranks, pids(own)
    stuck = "from mpi4py import MPI\nif MPI.COMM_WORLD.rank == 0: MPI.COMM_WORLD.Barrier()"
    ranks.view.execute(stuck, block=False)  # rank 0 waits for ever
    with pytest.raises(WorkshopError, match="Waiting for new ranks of session cells was given up"):
        held.restart("the cell was stopped", give_up=lambda: True)
    assert held.ranks is not ranks, "they come up all the same"
    assert held.ranks.view.apply_sync(os.getpid) == pids(own) and not set(before) & set(pids(own))
    until(lambda: not any(psutil.pid_exists(pid) for pid in before), 20, "the ranks of before to be gone")


def test_ranks_that_eat_the_memory_are_ended_with_a_sentence(own: Session, held: HeldRanks) -> None:
    eater = "kept = []\nwhile True: kept.append(bytearray(b'x') * (8 << 20))"
    eaten = held.ranks.view.execute(eater, block=False)
    with pytest.raises(IPythonError):
        eaten.get(limit(120))
    why = held.why_gone(60)
    assert why.startswith("the ranks took more memory than WORKSHOP_MEMORY allows: rank "), why
    assert held.ranks.view.apply_sync(os.getpid) == pids(own)


def test_a_session_that_is_stopped(own: Session, held: HeldRanks) -> None:
    """The last one of its session."""
    lifecycle.stop_session(own.store, "cells")
    with pytest.raises(WorkshopError, match="gone: it is stopped; run the cell again to get new ones"):
        held.check()
    with pytest.raises(WorkshopError, match="gone: it is stopped"):
        _ = held.ranks
    held.release()
    with pytest.raises(BadInput, match="can't be taken: it is stopped"):
        lease.take(own.store, own.record, "ada's notebook", learner=True)


def test_kill_9_of_the_conductor(shared: Session) -> None:
    """The last one of its session."""
    with lease.take(shared.store, shared.now, "ada's notebook") as held:
        assert held.ranks.size == 2
        os.kill(shared.now.conductor_pid, 9)
        why = until(lambda: why_gone(held), 20, "the holder to hear of it")
        assert why == (
            "The ranks of session class are gone: its conductor has died; start it with `workshop session start class`,"
            " then take them again."
        )
    assert shared.store.leases(shared.record.id) == []
    with pytest.raises(BadInput, match="it is lost; start it"):
        lease.take(shared.store, shared.now, "ada's notebook")
    left = shared.store.ask_lease(shared.record.id, "bob's notebook", "elsewhere", 1, 1.0)
    _, conductor = lifecycle.start_session(shared.store, "class", Placement(ranks=2))
    lifecycle.wait_ready(shared.store, shared.now, conductor)
    assert shared.store.lease(left.id).state == "ended"
    with lease.take(shared.store, shared.now, "ada's notebook") as again:
        assert again.ranks.view.apply_sync(os.getpid) == pids(shared)
    lifecycle.stop_session(shared.store, "class")
    conductor.wait(limit(10))
