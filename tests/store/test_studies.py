"""Studies: their trials, what became of them, and who works on them."""

from __future__ import annotations

import time

import pytest

from workshop.core.errors import BadInput
from workshop.store.records import RunRecord, SessionRecord, StudyRecord, Trial
from workshop.store.sessions import SILENT
from workshop.store.store import Store
from workshop.store.tables import studies

WANTED = [
    Trial(1, "1 rank", {"batch": 64}, {"ranks": 1}, 1),
    Trial(2, "2 ranks", {"batch": 32}, {"ranks": 2}, 1),
    Trial(3, "2 ranks", {"batch": 32}, {"ranks": 2}, 2),
]


@pytest.fixture
def session(store: Store) -> SessionRecord:
    return store.create_session("demo", {"ranks": 2})


@pytest.fixture
def study(store: Store) -> StudyRecord:
    return store.create_study("scaling", "mnist", {"ranks": [1, 2]}, WANTED, submitted_by="ada")


def submit(store: Store, session: SessionRecord, study: StudyRecord, number: int) -> RunRecord:
    run = store.submit(session.id, "mnist", {}, {"ranks": 1}, trial=(study.id, number))
    store.take_next(session.id)
    return run


def deaf(store: Store, study: StudyRecord) -> None:
    """As if its runner had not been heard of for too long."""
    with store.database.writing() as connection:
        long_ago = time.time() - SILENT - 1
        connection.execute(studies.update().where(studies.c.id == study.id).values(heartbeat_at=long_ago))


def test_a_new_study(store: Store, study: StudyRecord) -> None:
    assert (study.kind, study.workload, study.description) == ("scaling", "mnist", {"ranks": [1, 2]})
    assert (study.submitted_by, study.state, study.finished_at) == ("ada", "prepared", None)
    assert (study.trials, study.done, study.failed) == (3, 0, 0)
    assert store.trials(study.id) == WANTED
    assert store.study(study.id) == study
    other = store.create_study("grid", "sgan", {}, [])
    assert [known.id for known in store.studies()] == [other.id, study.id]
    assert [known.id for known in store.studies(["scaling"])] == [study.id]
    assert [known.id for known in store.studies(limit=1)] == [other.id]


def test_trials_and_their_runs(store: Store, session: SessionRecord, study: StudyRecord) -> None:
    first, second = submit(store, session, study, 1), submit(store, session, study, 2)
    store.submit(session.id, "mnist", {}, {})
    assert [trial.run_id for trial in store.trials(study.id)] == [first.id, second.id, None]
    assert {run.id for run in store.runs(study_id=study.id, limit=None)} == {first.id, second.id}
    assert store.study(study.id).done == 0
    store.finish(first.id, "completed")
    store.finish(second.id, "failed", error={"type": "ValueError"})
    now = store.study(study.id)
    assert (now.trials, now.done, now.failed) == (3, 2, 1)


def test_a_run_and_its_trial_come_together_or_not_at_all(
    store: Store, session: SessionRecord, study: StudyRecord
) -> None:
    with pytest.raises(BadInput, match="no trial 9"):
        submit(store, session, study, 9)
    with pytest.raises(BadInput, match="64 MB"):
        store.submit(session.id, "mnist", {}, {}, inputs={"data": bytes((64 << 20) + 1)}, trial=(study.id, 1))
    assert store.runs() == [] and store.trials(study.id) == WANTED


def test_a_trial_that_could_not_be_submitted(store: Store, session: SessionRecord, study: StudyRecord) -> None:
    store.fail_trial(study.id, 2, {"type": "BadInput", "message": "no such \0 file"})
    assert store.trials(study.id)[1].error == {"type": "BadInput", "message": "no such \0 file"}
    assert (store.study(study.id).done, store.study(study.id).failed) == (1, 1)
    run = submit(store, session, study, 2)
    assert store.trials(study.id)[1].error is None, "it has another run now"
    assert store.study(study.id).done == 0
    store.request_cancel(run.id)
    store.finish(run.id, "cancelled")
    assert store.study(study.id).done == 0, "a cancelled trial is still missing"


def test_one_works_on_a_study_at_a_time(store: Store, study: StudyRecord) -> None:
    assert store.take_study(study.id, "a") is None
    assert store.study(study.id).state == "running"
    heard = store.take_study(study.id, "b")
    assert heard is not None and heard <= time.time()
    assert store.keep_study(study.id, "a") and not store.keep_study(study.id, "b")
    assert (store.take_study(study.id, "b") or 0) > heard
    store.leave_study(study.id, "b")
    assert store.study(study.id).state == "running", "b had nothing to leave"
    store.leave_study(study.id, "a")
    assert store.study(study.id).state == "prepared", "it has no run yet"
    assert store.take_study(study.id, "b") is None
    with pytest.raises(BadInput, match="no study 99"):
        store.take_study(99, "a")


def test_a_silent_runner_counts_as_dead(store: Store, session: SessionRecord, study: StudyRecord) -> None:
    store.take_study(study.id, "a")
    submit(store, session, study, 1)
    deaf(store, study)
    assert store.study(study.id).state == "interrupted"
    assert store.take_study(study.id, "b") is None
    assert not store.keep_study(study.id, "a"), "it was taken over"
    store.finish_study(study.id, "a", "completed")
    assert store.study(study.id).state == "running", "only who works on it can finish it"


def test_finishing_and_beginning_again(store: Store, session: SessionRecord, study: StudyRecord) -> None:
    store.take_study(study.id, "a")
    run = submit(store, session, study, 1)
    store.finish(run.id, "failed")
    store.fail_trial(study.id, 2, {"type": "BadInput", "message": "no"})
    store.finish_study(study.id, "a", "failed")
    store.leave_study(study.id, "a")
    done = store.study(study.id)
    assert done.state == "failed" and done.finished_at is not None
    store.renew_trials(study.id, [1, 2])
    again = store.study(study.id)
    assert (again.state, again.finished_at, again.done, again.failed) == ("prepared", None, 0, 0)
    assert store.trials(study.id) == WANTED
    assert store.run(run.id).status == "failed", "the run stays"


def test_trials_that_come_later(store: Store, session: SessionRecord, study: StudyRecord) -> None:
    later = Trial(4, "4 ranks", {"batch": 16}, {"ranks": 4}, 1, point={"ranks": 4, "env.A": None})
    assert not store.add_trials(study.id, "a", [later]), "nobody works on it"
    store.take_study(study.id, "a")
    assert not store.add_trials(study.id, "b", [later]), "somebody else does"
    assert store.trials(study.id) == WANTED
    assert store.add_trials(study.id, "a", [later])
    assert store.trials(study.id) == [*WANTED, later]
    assert store.study(study.id).trials == 4
    with pytest.raises(Exception, match=r"(?i)unique|duplicate"):
        store.add_trials(study.id, "a", [later])
    deaf(store, study)
    store.take_study(study.id, "b")
    assert not store.add_trials(study.id, "a", [Trial(5, "5 ranks", {}, {}, 1)]), "it was taken over"


def test_a_pruned_trial_is_done_and_has_not_failed(store: Store, session: SessionRecord, study: StudyRecord) -> None:
    run = submit(store, session, study, 1)
    store.request_cancel(run.id)
    store.finish(run.id, "cancelled")
    found = {"why": "It did 3 images/s, the best 30.", "rate": 3.0, "seconds": 1.5}
    store.prune_trial(study.id, 1, found)
    assert store.trials(study.id)[0].pruned == found
    assert store.trials(study.id)[1].pruned is None
    assert (store.study(study.id).done, store.study(study.id).failed) == (1, 0)
    store.renew_trials(study.id, [1])
    assert store.trials(study.id) == WANTED and store.study(study.id).done == 0
    store.prune_trial(study.id, 2, found)
    submit(store, session, study, 2)
    assert store.trials(study.id)[1].pruned is None, "it has another run now"
