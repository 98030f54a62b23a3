"""A real session: conductor, controller and MPI ranks; runs go down, events come up."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import threading
import time
from pathlib import Path

import psutil
import pytest

from tests.live_session import Session
from tests.support import limit, until
from workshop.core import config, processes, topology
from workshop.core.errors import BadInput, WorkshopError
from workshop.core.placement import Placement
from workshop.extension import MESSAGES
from workshop.mpi.tool_interface import COUNTING
from workshop.report.panels.messages import sentences
from workshop.sessions import client, conductor, lifecycle
from workshop.sessions.fork import stub
from workshop.store.records import Identity, Limits, RunRecord
from workshop.store.store import Store

pytestmark = pytest.mark.real


def controllers(session: Session) -> list[psutil.Process]:
    tagged = processes.tagged(processes.TAG, processes.session_tag(session.record.id))
    return [process for process in tagged if "ipyparallel.controller" in processes.command(process)]


def test_runs_go_down_and_events_come_up(session: Session) -> None:
    session.run("tell", events=1)
    ranks = session.now.rank_map["ranks"]
    assert [rank["rank"] for rank in ranks] == [0, 1]

    first = session.run("tell", events=50)
    assert first.status == "completed", first.error
    assert first.metrics == {"told": 100, "threads": "1", "inputs": ["file"]}
    assert first.progress == (50, 50)
    assert first.activity["words"] == "computing" and first.activity["at"] > first.started_at
    assert [rank["pid"] for rank in first.rank_map["ranks"]] == [rank["pid"] for rank in ranks], "engines are reused"
    for rank in (0, 1):
        events = session.store.events(first.id, names=["value"], rank=rank)
        assert [event.value for event in events] == [step * 10 + rank for step in range(50)]
        assert [event.step for event in events] == list(range(50))
    assert session.store.artifact(first.id, "note.txt").data == b"told"
    assert session.store.missing_batches(first.id, 1_000_000) == {}
    assert set(first.verdict) == {"verdict", "why", "next"}

    # Another placement starts other engines, which stay for whoever wants the same.
    other = session.run("tell", Placement(ranks=3, threads=2), events=1)
    assert other.status == "completed", other.error
    assert other.metrics["threads"] == "2"
    assert len(other.rank_map["ranks"]) == 3
    again = session.run("tell", Placement(ranks=3, threads=2), events=1)
    assert [rank["pid"] for rank in again.rank_map["ranks"]] == [rank["pid"] for rank in other.rank_map["ranks"]]

    # What Open MPI refuses is refused before anything is queued, in its own words; the next run works.
    with pytest.raises(BadInput, match=r"in its own words:\n.+"):
        session.submit("tell", Placement(ranks=4, bind_to="core", cores_per_rank=4))
    # What only its launcher refuses fails the run.
    refused = session.store.submit(
        session.record.id, "tell", {}, Placement(ranks=2, map_by="hwthread", bind_to="package").as_json()
    )
    refused = session.wait(refused)
    assert (refused.status, refused.error["type"]) == ("failed", "EnginesFailed")
    assert "in its own words" in refused.error["message"]
    cores = topology.allowed_cores(topology.machine())
    many = Placement(ranks=4 * cores, bind_to="core")
    refused = session.wait(session.store.submit(session.record.id, "tell", {}, many.as_json()))
    scarce, whose, *own = refused.error["message"].splitlines()
    assert scarce == f"This machine has {cores} cores; you placed {4 * cores} ranks."
    assert "in its own words" in whose and len(own) > 3
    assert refused.verdict["why"].startswith(f"{scarce}\n{whose}\n{own[0]}\n"), "each line stays one"
    assert session.run("tell", events=1).status == "completed"


def test_cancelling(session: Session) -> None:
    obedient = session.submit("tell", events=10_000, every=0.02)
    session.started(obedient)
    told = session.store.totals(obedient.id)["value"][0][0]
    until(lambda: session.store.totals(obedient.id)["value"][0][0] > told, 20, "what is told meanwhile to be stored")
    assert session.store.run(obedient.id).status == "running"
    waiting = session.submit("tell", events=1)
    client.cancel(session.store, obedient.id)
    ended = session.wait(obedient)
    assert ended.status == "cancelled"
    assert 0 < ended.metrics["told"] < 20_000, "it ended by itself, with what it had"
    assert session.wait(waiting).status == "completed"

    deaf = session.submit("tell", events=10_000, every=0.02, obedient=False)
    session.started(deaf)
    client.cancel(session.store, deaf.id)
    assert session.wait(deaf).status == "cancelled"
    assert session.run("tell", events=1).status == "completed"


@pytest.mark.parametrize("how", ["raise", pytest.param("leave", marks=pytest.mark.exhaustive)])
def test_a_rank_that_raises_does_not_leave_the_others_waiting(session: Session, how: str) -> None:
    run = session.submit("break", rank=1, how=how)
    session.started(run, "before")
    ended = session.wait(run, 20)
    assert ended.status == "failed"
    phase, since = ended.activity["phases"]["0"]
    assert phase == "wait" and ended.started_at < since < ended.finished_at
    assert ended.error["rank"] == 1
    assert ended.error["type"] == {"raise": "ArithmeticError", "leave": "SystemExit"}[how]
    if how == "raise":
        assert ended.error["message"] == "this rank can't go on"
        assert "raise ArithmeticError" in ended.error["traceback"]
    following = session.run("tell", events=1)
    assert following.status == "completed"


def test_the_log_of_the_session_says_in_which_lines_a_rank_crashed(session: Session) -> None:
    ended = session.wait(session.submit("break", rank=1, how="crash", after=1))
    assert "SIGSEGV" in ended.error["message"]
    log = config.session_folder(session.record.id) / "conductor.log"
    until(lambda: "Segmentation fault" in log.read_text(), 20, "the log to hold the output of the ranks")
    assert "in break_" in log.read_text()
    assert session.run("tell", events=1).status == "completed"


def test_kill_9_of_a_rank(session: Session) -> None:
    segments = session.segments()
    # Rank 0 may begin later than rank 1, and tells what it has to tell a moment afterwards.
    run = session.submit("break", rank=1, how="kill", after=3)
    ended = session.wait(run, 30)
    assert ended.status == "failed"
    assert (ended.error["rank"], ended.error["type"]) == (1, "RankDied")
    assert "SIGKILL" in ended.error["message"]
    assert session.store.totals(run.id)["before"][0].sum == 1.0, "events up to then are kept"
    assert segments, "ranks of one host share memory"
    # The run has ended a moment before what is left of its ranks is cleared away.
    until(lambda: not any(segment.exists() for segment in segments), 20, "shared memory of the dead to be removed")
    following = session.run("tell", events=1)
    assert following.status == "completed"


def test_ranks_that_were_stopped_or_asked_to_end_are_replaced(session: Session) -> None:
    segments = session.segments()
    assert segments, "ranks of one host share memory"
    assert not any(segment.exists() for segment in segments), "what all have mapped needs no name"

    # Asked to end in a run: it ends at once, and doesn't wait for the others in MPI_Finalize.
    run = session.submit("tell", events=10_000, every=0.02)
    session.started(run)
    os.kill(session.store.run(run.id).rank_map["ranks"][1]["pid"], signal.SIGTERM)
    ended = session.wait(run)
    assert (ended.status, ended.error["type"], ended.error["rank"]) == ("failed", "RankDied", 1)
    assert "SIGTERM" in ended.error["message"]
    following = session.run("tell", events=1)
    assert following.status == "completed", following.error

    # Stopped between runs: the controller gives it up after 5 s, so a run on it would never begin. It goes on later.
    pids = [rank["pid"] for rank in following.rank_map["ranks"]]
    os.kill(pids[1], signal.SIGSTOP)
    following = session.run("tell", events=1)
    assert following.status == "completed", following.error
    assert not {rank["pid"] for rank in following.rank_map["ranks"]} & set(pids)
    until(lambda: not any(psutil.pid_exists(pid) for pid in pids), 60, "the ranks that were replaced to end")

    # A controller that is deaf is replaced, too, and one that has lost one of its processes, before somebody waits.
    for process in controllers(session):
        process.suspend()
    following = session.wait(session.submit("tell", events=1), 240)
    assert following.status == "completed", following.error
    second = max(controllers(session), key=lambda process: process.create_time())
    second.kill()
    until(lambda: session.now.state == "restarting", 60, "the loss to be noticed")
    until(lambda: session.now.state == "ready", 240, "new ranks")


def test_a_run_begins_again_whose_launcher_was_ending_already(session: Session) -> None:
    before = session.run("tell", events=1)
    pids = [rank["pid"] for rank in before.rank_map["ranks"]]
    (launcher,) = (one for one in psutil.Process(session.now.conductor_pid).children(True) if one.name() == "prterun")
    launcher.suspend()
    launcher.terminate()  # which it learns when it goes on
    run = session.submit("tell", events=1, after=5)
    until(lambda: session.store.run(run.id).status == "running", 60, "the run to begin")
    launcher.resume()
    ended = session.wait(run)
    assert ended.status == "completed", ended.error
    assert not {rank["pid"] for rank in ended.rank_map["ranks"]} & set(pids)
    assert conductor.NEW_RANKS in ended.notices


def test_a_conductor_that_is_terminated_keeps_its_queue(session: Session) -> None:
    run = session.submit("tell", events=10_000, every=0.02)
    session.started(run)
    waiting = session.submit("tell", events=1)
    os.kill(session.now.conductor_pid, signal.SIGTERM)
    ended = session.wait(run)
    assert (ended.status, ended.error["type"]) == ("interrupted", "ConductorTerminated")
    until(lambda: session.now.state == "lost", 60, "the session to read lost, as after a kill")
    assert session.store.run(waiting.id).status == "queued"
    record, conductor = lifecycle.start_session(session.store, "test", Placement(ranks=2))
    lifecycle.wait_ready(session.store, record, conductor)
    assert session.wait(waiting).status == "completed"


def test_kill_9_of_the_controller(session: Session) -> None:
    run = session.submit("tell", events=10_000, every=0.02)
    session.started(run)
    found = controllers(session)
    for process in found:
        process.kill()
    assert found
    ended = session.wait(run, 20)
    assert ended.status == "failed"
    assert ended.error["type"] == "ControllerDied"
    assert session.store.totals(run.id)["value"]
    assert session.run("tell", events=1).status == "completed"


def test_kill_9_of_the_conductor(session: Session) -> None:
    run = session.submit("tell", events=100_000, every=0.02)
    session.started(run)
    tag = processes.session_tag(session.record.id)
    segments = session.segments()
    os.kill(session.now.conductor_pid, 9)
    until(lambda: session.store.run(run.id).status == "interrupted", 20, "the run to read interrupted")
    assert session.now.state == "lost"
    until(lambda: not processes.tagged(processes.TAG, tag), 30, "the engines to end")
    told = session.store.totals(run.id)["value"]

    # Starting the session again goes on with its queue and keeps what was told.
    record, conductor = lifecycle.start_session(session.store, "test", Placement(ranks=2))
    lifecycle.wait_ready(session.store, record, conductor)
    assert session.store.run(run.id).status == "interrupted"
    assert session.store.totals(run.id)["value"] == told
    assert segments, "ranks of one host share memory"
    assert not any(segment.exists() for segment in segments), "shared memory of the dead is removed"
    assert session.run("tell", events=1).status == "completed"


def test_reset_and_stop(session: Session) -> None:
    run = session.submit("tell", events=100_000, every=0.02)
    session.started(run)
    pids = {rank["pid"] for rank in session.now.rank_map["ranks"]}
    session.store.request_reset(session.record.id)
    assert session.wait(run, 15).status == "cancelled"

    def ready_again() -> bool:
        now = session.now  # in one look: the request is taken back while ranks are being started anew
        return now.state == "ready" and not now.reset_requested

    until(ready_again, 60, "the session to be ready again")
    assert not pids & {rank["pid"] for rank in session.now.rank_map["ranks"]}

    last = session.submit("tell", events=100_000, every=0.02)
    session.started(last)
    assert lifecycle.stop_session(session.store, "test").state == "stopped"
    assert session.store.run(last.id).status == "cancelled"
    assert not processes.tagged(processes.TAG, processes.session_tag(session.record.id))
    with pytest.raises(BadInput, match="stopped; start it first"):
        session.submit("tell")


def test_two_sessions_side_by_side(session: Session) -> None:
    with pytest.raises(BadInput, match="test"):
        lifecycle.start_session(session.store, "test", Placement())
    with lifecycle.private_session(session.store, Placement(ranks=1)) as private:
        mine = client.submit(session.store, private, "tell", {"events": 3})
        theirs = session.submit("tell", events=3)
        assert session.wait(mine).metrics["told"] == 3
        assert session.wait(theirs).metrics["told"] == 6
    assert session.store.session(private.id).state == "stopped"


@pytest.mark.exhaustive
def test_nobody_waits_for_a_run_that_nobody_will_take(session: Session) -> None:
    running = session.submit("tell", events=100_000, every=0.02)
    session.started(running)
    waiting = session.submit("tell")
    lifecycle.stop_session(session.store, "test")
    ended = session.wait(waiting, 5)
    assert (ended.status, ended.error["type"]) == ("cancelled", "SessionStopped")
    late = session.store.submit(session.record.id, "tell", {}, {})
    with pytest.raises(WorkshopError, match="which is stopped"):
        session.wait(late, 5)


@pytest.mark.exhaustive
def test_a_slow_conductor_is_not_a_dead_one(session: Session) -> None:
    run = session.submit("tell", events=400, every=0.02)
    session.started(run)
    # Ranks that hear nothing for 7 s end themselves; the time in which they are stopped, too, doesn't count.
    stopped = [*(rank["pid"] for rank in session.now.rank_map["ranks"]), session.now.conductor_pid]
    for pid in stopped:
        os.kill(pid, signal.SIGSTOP)
    try:
        until(lambda: session.store.run(run.id).status == "interrupted", 20, "the run to read interrupted")
        ended: list[RunRecord] = []
        looks: list[RunRecord] = []
        waiter = threading.Thread(
            target=lambda: ended.append(client.wait(session.store, run.id, looks.append, timeout=limit(60)))
        )
        waiter.start()
        until(lambda: len(looks) > 1, 20, "the second look at the run")
    finally:
        for pid in reversed(stopped):
            os.kill(pid, signal.SIGCONT)
    waiter.join(limit(60))
    assert ended[0].status == "completed", ended[0].error


@pytest.mark.exhaustive
def test_a_store_that_is_busy_for_seconds_costs_nothing(session: Session) -> None:
    run = session.submit("tell", events=500, every=0.02)
    session.started(run)
    with sqlite3.connect(session.home / "workshop.db", isolation_level=None) as blocker:
        blocker.execute("BEGIN IMMEDIATE")
        time.sleep(9)
        blocker.execute("ROLLBACK")
    ended = session.wait(run)
    assert ended.status == "completed", ended.error
    assert session.store.totals(run.id)["value"] == {
        0: (500, sum(range(0, 5000, 10)), 0, 4990),
        1: (500, sum(range(1, 5001, 10)), 1, 4991),
    }


def test_stopping_while_it_starts(workshop_home: Path, probe_workloads: None) -> None:
    with Store.open() as store:
        record, conductor = lifecycle.start_session(store, "race", Placement(ranks=2))
        until(lambda: store.session(record.id).conductor_pid, 30, "the conductor")
        assert lifecycle.stop_session(store, "race").state == "stopped"
        assert conductor.wait(limit(10)) >= 0, "nobody had to end it by force"


def test_a_rank_that_dies_while_it_starts_is_no_refusal(workshop_home: Path, probe_workloads: None) -> None:
    """Nor does it end the session: the ranks are started once more."""

    def rank() -> psutil.Process | None:
        """What the launcher starts, and what the rank ends with."""
        found = processes.tagged(processes.TAG, processes.session_tag(record.id))
        return next((one for one in found if stub.__file__ in processes.command(one)), None)

    with Store.open() as store:
        record, conductor = lifecycle.start_session(store, "dies", Placement(ranks=1))
        until(rank, 60, "a rank").kill()
        ready = lifecycle.wait_ready(store, record, conductor)
        run = client.submit(store, ready, "tell", {"events": 1})
        assert client.wait(store, run.id, timeout=120).status == "completed"
        lifecycle.stop_session(store, "dies")
        conductor.wait(20)


def test_learners_stay_within_limits_and_take_what_is_theirs(session: Session) -> None:
    eve = session.store.add_identity("learner", "Eve", "a")
    bob = session.store.add_identity("learner", "Bob", "b")
    before = session.now.limits
    session.store.update_session(session.record.id, limits=Limits(ranks=2, threads=2, minutes=1, queued=1))

    def submit(who: Identity, **placement: object) -> RunRecord:
        where = {"ranks": 1, **placement}
        return client.submit(session.store, session.now, "tell", {"events": 500, "every": 0.02}, where, identity=who)

    for placement, words in (
        ({"ranks": 3}, "at most 2"),
        ({"threads": 3}, "at most 2"),
        ({"environment": {"OMP_NUM_THREADS": "64"}}, "OMP_NUM_THREADS is 64: this session allows 1 to 2"),
        ({"environment": {"OMP_NUM_THREADS": "000001999"}}, "OMP_NUM_THREADS is 000001999: this session allows 1 to 2"),
        ({"environment": {"LD_PRELOAD": "x.so"}}, "can't set LD_PRELOAD"),
    ):
        with pytest.raises(BadInput, match=words):
            submit(eve, **placement)
    run = submit(eve, environment={"OMP_PROC_BIND": "true", "OMP_NUM_THREADS": "2"})
    with pytest.raises(BadInput, match="1 unfinished run"):
        submit(eve)
    with pytest.raises(BadInput, match="your own runs"):
        client.cancel(session.store, run.id, bob)
    client.cancel(session.store, run.id, eve)
    assert session.wait(run).status == "cancelled"
    with pytest.raises(BadInput, match="has ended already"):
        client.cancel(session.store, run.id, eve)
    session.store.update_session(session.record.id, limits=before)


def test_measured_runs_get_fresh_ranks(session: Session) -> None:
    before = {rank["pid"] for rank in session.now.rank_map["ranks"]}
    run = client.submit(session.store, session.now, "tell", {"events": 1}, measured=True)
    ended = session.wait(run)
    assert ended.status == "completed"
    assert not before & {rank["pid"] for rank in ended.rank_map["ranks"]}


def test_a_run_keeps_the_messages_between_its_ranks_where_they_are_counted(session: Session) -> None:
    placement = Placement(ranks=2, environment=dict(COUNTING))
    run = session.run("kmeans", placement, data="blobs", points=2000, iterations=5, backend="numpy")
    for _ in range(2):  # the same ranks count again, also with communicators that a run frees
        again = session.run("allreduce", placement, methods="own", largest=1024, repeats=3)
        pids, before = ([rank["pid"] for rank in record.rank_map["ranks"]] for record in (again, run))
        assert pids == before and session.store.artifact(again.id, MESSAGES) is not None
    counted = json.loads(session.store.artifact(run.id, MESSAGES).data)
    assert not counted["obstacle"] and len(counted["hosts"]) == 2
    assert {"reading data", "computing"} <= {activity["name"] for activity in counted["activities"]}
    assert any("Messages inside collective calls" in sentence for sentence in sentences(counted))
    run = session.run("kmeans", data="blobs", points=2000, iterations=5, backend="numpy")
    assert MESSAGES not in {artifact.name for artifact in session.store.artifacts(run.id)}
