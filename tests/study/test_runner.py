"""Studies on real sessions: they complete, they are killed, they go on, and nothing is run twice."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.live_session import Session
from tests.support import limit, until
from tests.web import seed as class_seed
from workshop.core.errors import BadInput, WorkshopError
from workshop.core.placement import Placement
from workshop.registry import workload
from workshop.sessions import lifecycle
from workshop.store.records import RunRecord, StudyRecord, Trial
from workshop.store.store import Store
from workshop.store.tables import studies
from workshop.study import runner
from workshop.study.kinds import report
from workshop.study.scaling.plan import KIND, plan

pytestmark = pytest.mark.timeout(limit(400))
WORKSHOP = str(Path(sys.prefix) / "bin" / "workshop")
ONE = Trial(1, "1 rank", {}, Placement(ranks=1).as_json(), 1)
DESCRIPTION = {"weak": False, "rate": "images_per_second", "unit": "images/s", "params": {}, "placement": {}}


def study_of(store: Store, *wanted: Trial) -> StudyRecord:
    return store.create_study(KIND, "work", DESCRIPTION, wanted)


def start(*words: str) -> subprocess.Popen[str]:
    environment = os.environ | {"COLUMNS": "80", "NO_COLOR": "1"}
    return subprocess.Popen(
        [WORKSHOP, "study", *words, "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
    )


def end(process: subprocess.Popen[str], code: int, seconds: float = 200) -> dict[str, Any]:
    out, err = process.communicate(timeout=limit(seconds))
    assert process.returncode == code, err
    return json.loads(out)


def working(store: Store, runs: int) -> RunRecord:
    """The newest run, once there are so many and it is at work."""

    def look() -> RunRecord | None:
        found = store.runs(limit=1)
        if not found or found[0].id < runs or not store.totals(found[0].id).get("working"):
            return None
        return store.run(found[0].id)  # as it is now: what was read before it worked may lack its ranks

    return until(look, 120, f"run {runs} to work")


@pytest.mark.real
def test_a_study_completes_though_one_number_of_ranks_fails(session: Session) -> None:
    store = session.store
    wanted = plan(workload("work"), {"batch": 6, "fails": 3}, [1, 2, 3], Placement(), repeats=1)
    study = store.create_study(KIND, "work", wanted.description(), wanted.trials())
    seen: list[tuple[int, int]] = []
    with runner.working_on(store, study.id) as me:
        assert store.study(study.id).state == "running"
        other = pytest.raises(BadInput, match=f"Study {study.id} is being run by another command")
        with other, runner.working_on(store, study.id):
            pass
        done = runner.run_study(store, study.id, me, session.now, lambda p: seen.append((p.done, p.total)))
    assert (done.state, done.trials, done.done, done.failed) == ("completed", 3, 3, 1)
    assert [run.measured for run in store.runs(study_id=study.id)] == [True] * 3
    assert sorted(set(seen)) == [(0, 3), (1, 3), (2, 3)]

    told = report(store, store.study(study.id)).as_json()
    assert [(row["ranks"], row["throughput"], row["failed"]) for row in told["rows"]] == [
        (1, 1000.0, 0),
        (2, 1800.0, 0),
        (3, None, 1),
    ]
    two = told["rows"][1]
    assert (two["speed_up"], two["efficiency"], two["threads"], two["repeats"]) == (1.8, 0.9, 1, 1)
    assert two["phases"] == pytest.approx({"compute": 0.9, "communicate": 0.1, "wait": 0.0, "input": 0.0})
    assert two["runs"] == [store.trials(study.id)[1].run_id]
    assert "1 cell failed; 3 ranks: ArithmeticError: too many of us." in told["verdict"]["why"]
    assert [trial["status"] for trial in told["trials"]] == ["completed", "completed", "failed"]
    assert told["trials"][2]["error"]["type"] == "ArithmeticError"
    assert [run.metrics.get("batch") for run in reversed(store.runs(study_id=study.id))] == [6, 3, None]

    # What has a result is not run again; what failed only where somebody says so.
    assert next(runner.same_studies(store, wanted), None) is None
    assert runner.missing(*runner.read(store, study.id)) == []
    assert runner.renew_failed(store, study.id) == 1
    assert [trial.number for trial in runner.missing(*runner.read(store, study.id))] == [3]
    again = next(runner.same_studies(store, wanted), None)
    assert again is not None and again.id == study.id

    # A trial that takes too long is ended and counts as failed; the study goes on.
    slow = Trial(1, "slow", {"seconds": 30.0}, Placement(ranks=2).as_json(), 1)
    bad = Trial(2, "bad", {"nonsense": 1}, Placement(ranks=2).as_json(), 1)
    study = study_of(store, slow, bad)
    with runner.working_on(store, study.id) as me:
        done = runner.run_study(store, study.id, me, session.now, limit=0.2)
    assert (done.state, done.failed) == ("failed", 2)
    errors = [trial.error for trial in store.trials(study.id)]
    assert [error["type"] for error in errors if error] == ["TimeLimit", "BadInput"]
    (run,) = store.runs(study_id=study.id)
    assert run.status == "cancelled"
    said = report(store, done).verdict
    assert "Nothing could be measured." in said["verdict"] and "0.00333333 minutes" in said["why"]


def test_a_trial_that_completes_while_it_is_ended_counts(workshop_home: Path) -> None:
    with Store.open() as store:
        session, study = class_seed.session(store), study_of(store, ONE)
        run = store.submit(session.id, "work", {}, ONE.placement, measured=True, trial=(study.id, 1))
        store.take_next(session.id)

        def complete() -> None:
            until(lambda: store.run(run.id).cancel_requested, 10, "the study to end its trial")
            store.finish(run.id, "completed", metrics={"images_per_second": 1000.0})

        rank = threading.Thread(target=complete, daemon=True)
        rank.start()
        with runner.working_on(store, study.id) as me:
            done = runner.run_study(store, study.id, me, session, limit=0.0)
        rank.join()
        assert (done.state, done.failed) == ("completed", 0)
        assert store.trials(study.id)[0].error is None


@pytest.mark.real
def test_a_kind_wants_more_and_ends_what_is_hopeless(session: Session) -> None:
    """`more` is asked whenever no trial is missing; a run that `hopeless` has a sentence for is ended and kept so."""
    store, placed = session.store, Placement(ranks=1).as_json()
    study = store.create_study("probing", "work", DESCRIPTION, [Trial(1, "quick", {}, placed, 1)])
    seen: list[tuple[int, int, int]] = []
    with runner.working_on(store, study.id) as me:
        done = runner.run_study(
            store, study.id, me, session.now, lambda now: seen.append((now.trial.number, now.done, now.total))
        )
    assert (done.state, done.trials, done.done, done.failed) == ("completed", 3, 3, 0)
    assert sorted(set(seen)) == [(1, 0, 3), (2, 1, 3), (3, 2, 3)], "the total counts those that come"
    quick, slow, last = store.trials(study.id)
    assert quick.pruned is None and last.pruned is None and slow.error is None
    assert slow.pruned is not None and slow.pruned["why"] == "1 was quicker."
    assert slow.pruned["rate"] == 1000.0 and slow.pruned["seconds"] > 0.3
    assert [store.run(trial.run_id or 0).status for trial in (quick, slow, last)] == [
        "completed",
        "cancelled",
        "completed",
    ]
    assert runner.trials_to_run(store, study.id) == [] and runner.missing(*runner.read(store, study.id)) == []


@pytest.mark.real
def test_ctrl_c_and_kill_9_of_the_command_in_a_session(session: Session) -> None:
    store = session.store
    words = ["run", "scaling", "--workload", "work", "--ranks", "1,2", "--repeats", "1", "--set", "seconds=1.5"]
    first = start(*words)
    one = working(store, 1)
    first.send_signal(signal.SIGINT)
    told = end(first, 130)
    assert (told["state"], told["verdict"]["verdict"]) == ("interrupted", "Nothing was measured yet.")
    assert store.run(one.id).status == "cancelled"
    assert [trial["status"] for trial in told["trials"]] == ["cancelled", "waiting"]

    # The same command goes on with the same study.
    second = start(*words)
    two = working(store, 2)
    second.kill()
    second.communicate(timeout=limit(10))
    assert len(store.studies()) == 1
    # Nobody works on the study, but the session goes on with its run: it is not run again.
    told = end(start("resume", str(told["study"])), 0)
    assert told["state"] == "completed"
    assert [trial["run"] for trial in told["trials"]] == [two.id, two.id + 1]
    assert [run.status for run in reversed(store.runs())] == ["cancelled", "completed", "completed"]
    assert told["rows"][1]["speed_up"] == 1.8
    again = start("resume", str(told["study"]))
    assert end(again, 0)["trials"] == told["trials"]
    assert len(store.runs()) == 3


@pytest.mark.exhaustive
@pytest.mark.real
def test_kill_9_of_the_conductor(session: Session) -> None:
    store = session.store
    study = study_of(store, Trial(1, "1 rank", {"seconds": 1.0}, Placement(ranks=1).as_json(), 1))
    done: list[StudyRecord] = []

    def work() -> None:
        with runner.working_on(store, study.id) as me:
            done.append(runner.run_study(store, study.id, me, session.now))

    worker = threading.Thread(target=work)
    worker.start()
    working(store, 1)
    os.kill(session.now.conductor_pid or 0, signal.SIGKILL)
    until(lambda: session.now.state == "lost", 30, "the session to be lost")
    record, conductor = lifecycle.start_session(store, "test", Placement(ranks=1))
    lifecycle.wait_ready(store, record, conductor)
    worker.join(limit(120))
    assert [known.state for known in done] == ["completed"]
    assert [run.status for run in store.runs()] == ["completed", "interrupted"]
    assert store.trials(study.id)[0].run_id == 2


@pytest.fixture
def store(workshop_home: Path, probe_workloads: None) -> Any:
    with Store.open() as opened:
        yield opened


def test_somebody_who_was_killed_is_told_from_somebody_who_works(store: Store) -> None:
    study = study_of(store, ONE)
    store.take_study(study.id, "dead")
    began = time.monotonic()
    with runner.working_on(store, study.id):
        assert time.monotonic() - began > 3, "as long as a heartbeat may take"
        assert store.study(study.id).state == "running"
    assert store.study(study.id).state == "prepared"
    with pytest.raises(BadInput, match="no study 99"), runner.working_on(store, 99):
        pass


def test_who_was_thought_dead_leaves_the_study_to_the_other(store: Store) -> None:
    """A laptop that slept: its study was resumed elsewhere meanwhile."""
    session = store.create_session("here", {"ranks": 1})
    study = study_of(store, ONE)
    with runner.working_on(store, study.id) as me:
        with store.database.writing() as connection:
            connection.execute(studies.update().values(runner="other"))
        with pytest.raises(WorkshopError, match="taken over by another command"):
            runner.run_study(store, study.id, me, session)
    assert store.runs() == []
    assert store.study(study.id).state == "running", "the other one goes on"


def test_a_run_that_waits_where_nobody_will_take_it_is_replaced(store: Store) -> None:
    """The private session of an earlier sitting, after a power cut."""
    private = store.create_session("private-1", {"ranks": 1}, private=True)
    study = study_of(store, ONE)
    left = store.submit(private.id, "work", {}, {"ranks": 1}, trial=(study.id, 1))
    here = store.create_session("here", {"ranks": 1})
    store.update_session(here.id, state="stopped")
    with runner.working_on(store, study.id) as me, pytest.raises(WorkshopError, match="here is stopped"):
        runner.run_study(store, study.id, me, here)
    assert store.run(left.id).status == "cancelled"
    assert [trial.number for trial in runner.missing(*runner.read(store, study.id))] == [1]


def test_a_trial_that_failed_through_no_fault_of_its_own_is_run_again(store: Store) -> None:
    session, study = class_seed.session(store), study_of(store, ONE, replace(ONE, number=2))
    own = {"rank": 1, "host": "laptop", "type": "WorkshopError", "message": "no luck", "traceback": ""}
    around = own | {"rank": None, "message": "Somebody else has been measuring on this machine for 600 s."}
    for number, error in ((1, own), (2, around)):
        run = store.submit(session.id, "work", {}, ONE.placement, measured=True, trial=(study.id, number))
        store.take_next(session.id)
        store.finish(run.id, "failed", error=error)
    with runner.working_on(store, study.id) as me:
        runner.finish(store, study.id, me)
    assert runner.renew_failed(store, study.id, every=False) == 1
    assert [trial.number for trial in runner.missing(*runner.read(store, study.id))] == [2]
    assert store.study(study.id).finished_at is None
