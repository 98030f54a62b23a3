"""Beginning a guided study, and having one that is there find out more."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.study.path import world
from tests.web import seed
from workshop.errors import BadInput
from workshop.store.store import Store
from workshop.study import kinds, runner
from workshop.study.path import wanting
from workshop.study.path.kind import KIND
from workshop.study.path.plan import STEPS, Setting


@pytest.fixture
def store(workshop_home: Path) -> Iterator[Store]:
    with Store.open() as opened:
        yield opened


def test_a_study_is_prepared_and_its_steps_are_wanted_one_by_one(store: Store) -> None:
    session = seed.session(store)
    made = wanting.begin(store, wanting.here(session, {"data": "digits"}).wanting(""), "Ina")
    assert (made.submitted_by, made.trials, made.state) == ("Ina", 0, "interrupted")
    assert kinds.title(made) == "the article's path, quick, no step yet"
    assert runner.wanted(store, made.id) == []
    asked = wanting.want(store, made.id, "d")
    assert Setting.read(asked.description).steps == "d" and kinds.title(asked).endswith("step d")
    assert {trial.point["step"] for trial in runner.wanted(store, made.id)} == {"d"}
    assert wanting.expected(store, asked, "d").runs == len(runner.wanted(store, made.id)) + 2, "two of them again"


def test_what_is_complete_is_open_again_when_more_is_wanted(store: Store) -> None:
    study = world.study(store, seed.session(store), steps="ab")
    assert study.state == "completed"
    assert wanting.expected(store, study, "ab").runs == 0 < wanting.expected(store, study, STEPS).runs
    again = wanting.want(store, study.id, "b")
    assert (again.state, again.finished_at, again.trials) == ("interrupted", None, study.trials)
    assert runner.wanted(store, study.id) == [], "it has all of that"
    with runner.working_on(store, study.id) as me:
        runner.finish(store, study.id, me)
        assert not store.ask_study(study.id, "somebody else", {})
        with pytest.raises(BadInput, match="is being run by another command"):
            wanting.want(store, study.id, "c")
    assert store.study(study.id).state == "completed"


def test_another_machine_s_cores_are_what_counts(store: Store) -> None:
    session = seed.session(store)
    setting = wanting.here(session, {}, thorough=True, steps="a")
    assert (setting.cores, setting.steps, setting.quick) == (2, "a", False)
    assert setting.mpis[0] == "openmpi"
    assert wanting.expected_of(store, setting).runs == 2
    assert KIND.name == "path"
