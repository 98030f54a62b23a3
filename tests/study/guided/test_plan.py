"""Beginning a guided study, and having one that is there find out more."""

from __future__ import annotations

from typing import Any

import pytest

from tests.web import seed
from tests.workloads.sgan.study import world
from workshop.core.errors import BadInput
from workshop.store.records import StudyRecord
from workshop.store.store import Store
from workshop.study import kinds, runner
from workshop.study.guided import kind, plan
from workshop.study.guided.plan import Setting
from workshop.study.kinds import Remaining
from workshop.workloads.sgan.study.facts import GUIDE


def steps_of(store: Store, study: StudyRecord) -> dict[str, Remaining]:
    report: Any = kinds.report(store, study)
    return {step: kind.ahead(store, report, step) for step in GUIDE.keys}


def test_a_study_is_prepared_and_its_steps_are_wanted_one_by_one(store: Store) -> None:
    session = seed.session(store)
    made = runner.begin(store, plan.plan_here(GUIDE, session, {"data": "digits"}).wanting(""), "Ina")
    assert (made.submitted_by, made.trials, made.state) == ("Ina", 0, "prepared")
    assert kinds.title(made) == "the article's path, quick, no step yet"
    assert runner.trials_to_run(store, made.id) == []
    asked = plan.ask_for(GUIDE, store, made.id, "d")
    assert Setting.read(GUIDE, asked.description).steps == "d" and kinds.title(asked).endswith("step d")
    assert {trial.point["step"] for trial in runner.trials_to_run(store, made.id)} == {"d"}
    assert steps_of(store, asked)["d"].runs == len(runner.trials_to_run(store, made.id)) + 6, "three of them twice more"


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
