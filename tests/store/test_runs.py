"""Runs: from the queue to their end."""

from __future__ import annotations

import math

import pytest

from tests.store.test_sessions import silence
from workshop.core.errors import BadInput
from workshop.store.records import RunRecord, SessionRecord
from workshop.store.store import Store


@pytest.fixture
def session(store: Store) -> SessionRecord:
    return store.create_session("demo", {"ranks": 2})


def submit(store: Store, session: SessionRecord, who: str = "", workload: str = "kmeans") -> RunRecord:
    return store.submit(session.id, workload, {"clusters": 3}, {"ranks": 2}, submitted_by=who)


def test_a_queued_run(store: Store, session: SessionRecord) -> None:
    ada = store.add_identity("learner", "ada", "0" * 64)
    run = store.submit(
        session.id,
        "kmeans",
        {"clusters": 16, "image": None},
        {"ranks": 2},
        submitted_by="ada",
        identity_id=ada.id,
        measured=True,
        inputs={"photo": b"\x89PNG"},
    )
    assert (run.session, run.session_id, run.workload, run.status) == ("demo", session.id, "kmeans", "queued")
    assert (run.params, run.placement) == ({"clusters": 16, "image": None}, {"ranks": 2})
    assert (run.submitted_by, run.identity_id, run.measured) == ("ada", ada.id, True)
    assert (run.metrics, run.notices, run.error, run.verdict, run.progress) == ({}, [], None, None, None)
    assert run.started_at is None and run.finished_at is None and not run.ended
    assert store.artifact(run.id, "input/photo").data == b"\x89PNG"
    assert store.run(run.id) == run


def test_nothing_is_left_of_a_run_that_could_not_be_queued(store: Store, session: SessionRecord) -> None:
    with pytest.raises(BadInput, match="64 MB"):
        store.submit(session.id, "kmeans", {}, {}, inputs={"photo": bytes((64 << 20) + 1)})
    with pytest.raises(BadInput, match="no session with the id 99"):
        store.submit(99, "kmeans", {}, {})
    assert store.runs() == []


def test_a_run_from_queue_to_end(store: Store, session: SessionRecord) -> None:
    queued = submit(store, session)
    taken = store.take_next(session.id)
    assert taken is not None and taken.id == queued.id and taken.status == "running" and taken.started_at
    assert store.take_next(session.id) is None
    store.set_run(queued.id, rank_map={"ranks": []}, machine={"host": "h"})
    store.set_run(queued.id, progress=(3.0, 20.0))
    store.set_run(queued.id, notices=["Something was lost."])
    running = store.run(queued.id)
    assert (running.rank_map, running.machine) == ({"ranks": []}, {"host": "h"})
    assert (running.progress, running.notices) == ((3.0, 20.0), ["Something was lost."])
    said = {"verdict": "Well balanced.", "why": "…", "next": "…"}
    assert store.finish(queued.id, "completed", metrics={"inertia": 1.5, "loss": math.nan}, verdict=said)
    ended = store.run(queued.id)
    assert ended.status == "completed" and ended.ended and ended.finished_at and ended.verdict == said
    assert ended.metrics["inertia"] == 1.5 and math.isnan(ended.metrics["loss"])
    assert not store.finish(queued.id, "failed", error={"type": "late"})
    assert store.run(queued.id).status == "completed" and store.run(queued.id).error is None


def test_words_from_outside(store: Store, session: SessionRecord) -> None:
    """Tracebacks hold whatever a program printed."""
    run = submit(store, session, who="n\0ul")
    error = {"type": "ValueError", "message": "\0 and \ud800 and 日本", "traceback": "…"}
    assert store.finish(run.id, "failed", error=error)
    assert store.run(run.id).error == error
    assert store.run(run.id).submitted_by == "n\ufffdul"
    store.update_session(session.id, message="bro\ud800ken")
    assert store.session("demo").message == "bro?ken"


def test_learners_take_turns(store: Store, session: SessionRecord) -> None:
    runs = {name: submit(store, session, who=name.rstrip("123")) for name in ("a1", "a2", "a3", "b1", "c1", "b2")}
    by_id = {run.id: name for name, run in runs.items()}

    def queue() -> list[str]:
        return [by_id[run.id] for run in store.queue(session.id)]

    assert queue() == ["a1", "b1", "c1", "a2", "b2", "a3"]
    taken = []
    while queue():
        expected = queue()[0]
        run = store.take_next(session.id)
        assert run is not None and by_id[run.id] == expected
        taken.append(expected)
        if len(taken) == 1:
            by_id[submit(store, session, who="d").id] = "d1"
    assert taken == ["a1", "b1", "c1", "d1", "a2", "b2", "a3"], "who never had a turn is before those who had"


def test_cancelling(store: Store, session: SessionRecord) -> None:
    queued = submit(store, session)
    store.request_cancel(queued.id)
    assert store.run(queued.id).status == "cancelled" and store.run(queued.id).finished_at
    assert store.take_next(session.id) is None
    submit(store, session)
    running = store.take_next(session.id)
    assert running is not None
    store.request_cancel(running.id)
    assert store.run(running.id).status == "running" and store.run(running.id).cancel_requested
    store.finish(running.id, "completed")
    store.request_cancel(running.id)
    assert store.run(running.id).status == "completed"
    with pytest.raises(BadInput, match="no run 99"):
        store.request_cancel(99)


def test_all_runs_of_a_person_are_cancelled(store: Store, session: SessionRecord) -> None:
    ada, bob = (store.add_identity("learner", name, name).id for name in ("Ada", "Bob"))
    placed = {"params": {}, "placement": {}}
    ids = [store.submit(session.id, "kmeans", **placed, identity_id=who).id for who in (ada, ada, bob)]
    assert store.take_next(session.id) is not None
    assert store.request_cancel_all(ada) == 2
    assert [store.run(run_id).status for run_id in ids] == ["running", "cancelled", "queued"]
    assert [store.run(run_id).cancel_requested for run_id in ids] == [True, True, False]


def test_a_run_without_a_living_conductor_reads_interrupted(store: Store, session: SessionRecord) -> None:
    run, waiting = submit(store, session), submit(store, session)
    store.take_next(session.id)
    silence(store, session.id)
    read = store.run(run.id)
    assert read.status == "interrupted" and read.ended and read.error is not None and read.finished_at is not None
    assert store.run(waiting.id).status == "queued"
    assert [known.id for known in store.runs(status="interrupted")] == [run.id]
    assert store.runs(status="running") == []
    store.heartbeat(session.id)
    assert store.run(run.id).status == "running" and store.run(run.id).error is None, "it was only busy"
    silence(store, session.id)
    assert store.finish(run.id, "completed"), "a conductor that was only busy may still finish its run"
    assert store.run(run.id).status == "completed"


def test_what_a_dead_conductor_left_is_written_down(store: Store, session: SessionRecord) -> None:
    left, waiting = submit(store, session), submit(store, session)
    store.take_next(session.id)
    silence(store, session.id, 60)
    died = store.session("demo").heartbeat_at
    assert store.interrupt_left(session.id) == 1
    assert store.interrupt_left(session.id) == 0
    store.heartbeat(session.id)
    read = store.run(left.id)
    assert read.status == "interrupted" and read.error is not None and "conductor" in read.error["message"]
    assert read.finished_at == died
    assert store.run(waiting.id).status == "queued"
    assert not store.finish(left.id, "completed")
