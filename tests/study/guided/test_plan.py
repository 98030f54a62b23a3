"""Beginning a guided study, and having one that is there find out more."""

from __future__ import annotations

import pytest

from tests.web import seed
from tests.workloads.sgan.study import world
from workshop.core.errors import BadInput
from workshop.store.records import StudyRecord, Trial
from workshop.store.store import Store
from workshop.store.tables import runs
from workshop.study import kinds, runner
from workshop.study.estimate import Remaining, ahead_words
from workshop.study.guided import kind, plan
from workshop.study.guided.cells import place
from workshop.study.guided.plan import Setting
from workshop.study.kinds import Sofar
from workshop.workloads.sgan.study.guide import GUIDE


def steps_of(store: Store, study: StudyRecord) -> dict[str, Remaining]:
    setting, sofar = Setting.read(GUIDE, study.description), Sofar(study, *kinds.read(store, study.id))
    return {step: kind.expected(store, setting.wanting(step), sofar) for step in GUIDE.keys}


def test_a_study_is_prepared_and_its_steps_are_wanted_one_by_one(store: Store) -> None:
    session = seed.session(store)
    made = runner.begin(store, plan.plan_here(GUIDE, session, {"data": "digits"}).wanting(""), "Ina")
    assert (made.submitted_by, made.trials, made.state) == ("Ina", 0, "prepared")
    assert kinds.title(made) == "the article's path, quick, no step yet"
    assert runner.trials_to_run(store, made.id) == []
    asked = plan.ask_for(GUIDE, store, made.id, "d")
    assert Setting.read(GUIDE, asked.description).steps == "d" and kinds.title(asked).endswith("step d")
    assert {trial.point["step"] for trial in runner.trials_to_run(store, made.id)} == {"d"}
    assert steps_of(store, asked)["d"].runs == len(runner.trials_to_run(store, made.id)) + 2, "two of them again"


def test_what_is_complete_is_open_again_when_more_is_wanted(store: Store) -> None:
    study = world.study(store, seed.session(store), steps="ab")
    assert study.state == "completed"
    left = steps_of(store, study)
    assert left["a"].runs == left["b"].runs == 0 and all(left[step].runs for step in GUIDE.keys[2:])
    again = plan.ask_for(GUIDE, store, study.id, "b")
    assert (again.state, again.finished_at, again.trials) == ("interrupted", None, study.trials)
    assert runner.trials_to_run(store, study.id) == [], "it has all of that"
    with runner.working_on(store, study.id) as me:
        runner.finish(store, study.id, me)
        assert not store.ask_study(study.id, "somebody else", {})
        with pytest.raises(BadInput, match="is being run by another command"):
            plan.ask_for(GUIDE, store, study.id, "c")
    assert store.study(study.id).state == "completed"


def test_how_long_it_takes_is_one_figure_and_taken_from_runs_like_its_own(store: Store) -> None:
    session = seed.session(store)
    setting = world.setting(steps="b")
    guessed = kind.expected(store, setting)
    assert "which is a guess" in guessed.why
    made = runner.begin(store, setting)
    assert ahead_words(store, Sofar(made, *kinds.read(store, made.id))) == f"6 runs to go, about 80 s ({guessed.why})"
    for iterations, took in ((100, 30.0), (800, 90.0)):  # the second one is a real training, and much longer
        trial = Trial(1, "", {**setting.params, "iterations": iterations}, place(1, 2, 2).as_json(), 1)
        run = store.submit(session.id, "sgan", trial.params, trial.placement, measured=True)
        store.take_next(session.id)
        store.finish(run.id, "completed", metrics={})
        ended = store.run(run.id).finished_at
        with store.database.writing() as connection:
            connection.execute(runs.update().where(runs.c.id == run.id).values(started_at=ended - took))
    told = kind.expected(store, setting)
    assert told.seconds == pytest.approx(6 * 30) and told.why.endswith("as such runs took here")
    assert "6 runs to go, about 3 min (at 30 s a run" in ahead_words(store, Sofar(made, *kinds.read(store, made.id)))
