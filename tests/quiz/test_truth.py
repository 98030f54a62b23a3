"""The right answers of predict questions, from runs of a real session and of a store that holds all kinds of them."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.web import seed
from workshop.core.errors import BadInput
from workshop.core.placement import Placement
from workshop.quiz import self_study, truth
from workshop.quiz.deck import Deck
from workshop.quiz.self_study import QuizLearner
from workshop.quiz.types.number import Predict
from workshop.store.records import Identity, Limits, SessionRecord
from workshop.store.store import Store
from workshop.store.tables import runs
from workshop.web import auth


def question(truth: str, **runs: dict[str, Any]) -> Predict:
    return Predict(type="predict", id="how-fast", text="How fast?", truth=truth, runs=runs)


def four(**placement: Any) -> dict[str, Any]:
    return {"workload": "kmeans", "params": {"clusters": 4}, "placement": placement}


@pytest.fixture
def up(store: Store) -> SessionRecord:
    return seed.session(store)


@pytest.fixture
def learner(store: Store) -> Identity:
    return auth.let_in(store, "learner", "Ada")[0]


def complete(
    store: Store, session: SessionRecord, identity: Identity | None = None, status: str = "completed", **given: Any
) -> int:
    """A run that ended; `given` are its params, `ranks` and `metrics`."""
    metrics, ranks = given.pop("metrics", {}), given.pop("ranks", 2)
    params = {"data": "photo", "clusters": 4, "iterations": 20, **given}
    placement = Placement(ranks=ranks).as_json()
    run = store.submit(
        session.id, "kmeans", params, placement, identity_id=identity.id if identity else None, submitted_by=""
    )
    store.take_next(session.id)
    store.finish(run.id, status, metrics=metrics, error={"message": "no luck.\nmore"} if status == "failed" else None)
    return run.id


def completed(store: Store, asked: Predict, identity: int | None) -> dict[str, int]:
    return {name: run.id for name, run in truth.latest(store, asked, identity, "completed").items()}


def made_earlier(store: Store, run_id: int, seconds: float) -> None:
    """Set a run's times back."""
    times = {column.name: column - seconds for column in (runs.c.queued_at, runs.c.started_at, runs.c.finished_at)}
    with store.database.writing() as connection:
        connection.execute(runs.update().where(runs.c.id == run_id).values(**times))


@pytest.mark.parametrize(
    ("run", "why"),
    [
        ({"workload": "nothing"}, "There is no workload 'nothing'"),
        ({"workload": "kmeans", "params": {"clusters": 0}}, "clusters is 0"),
        ({"workload": "kmeans", "params": {"color": 1}}, "color is not one of its settings"),
        ({"workload": "kmeans", "placement": {"ranks": 0}}, "ranks is 0"),
    ],
)
def test_what_can_t_be_run_is_told(store: Store, run: dict[str, Any], why: str) -> None:
    with pytest.raises(BadInput, match=why):
        truth.latest(store, question("a.seconds", a=run), None)


def test_the_newest_own_run_that_fits_counts(store: Store, up: SessionRecord, learner: Identity) -> None:
    asked = question("four.x / one.x", four=four(ranks=4), one=four(ranks=1))
    complete(store, up, learner, ranks=4)
    newest = complete(store, up, learner, ranks=4)
    complete(store, up, learner, ranks=4, clusters=5)
    complete(store, up, learner, ranks=2)
    complete(store, up, learner, "failed", ranks=4)
    of_nobody = complete(store, up, ranks=4)
    assert completed(store, asked, learner.id) == {"four": newest}
    assert completed(store, asked, None) == {"four": of_nobody}
    one = complete(store, up, learner, ranks=1)
    assert completed(store, asked, learner.id) == {"four": newest, "one": one}


def test_old_runs_are_found_behind_many_others(
    store: Store, up: SessionRecord, learner: Identity, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(truth, "PAGE", 3)
    old = complete(store, up, learner, ranks=4)
    for _ in range(7):
        complete(store, up, ranks=4)
    assert completed(store, question("four.x", four=four(ranks=4)), learner.id) == {"four": old}


@pytest.mark.real
def test_the_latest_run_is_one_that_came_to_something_or_may_yet(
    store: Store, up: SessionRecord, learner: Identity
) -> None:
    asked = question("a.x", a=four(ranks=4))
    failed = complete(store, up, learner, "failed", ranks=4)
    assert truth.latest(store, asked, learner.id)["a"].id == failed
    done = complete(store, up, learner, ranks=4)
    complete(store, up, learner, "cancelled", ranks=4)
    assert truth.latest(store, asked, learner.id)["a"].id == done
    (queued,) = truth.submit(store, up, asked, learner).values()
    assert truth.latest(store, asked, learner.id)["a"].id == queued
    assert completed(store, asked, learner.id) == {"a": done}
    assert truth.latest(store, asked, None) == {}


def test_the_value_is_that_of_the_expression(store: Store, up: SessionRecord) -> None:
    made = {
        "one": complete(store, up, ranks=1, metrics={"seconds": {"fit": 8.0}, "waits": [1, 5, 2]}),
        "four": complete(store, up, ranks=4, metrics={"seconds": {"fit": 2.0}}),
    }
    names = {"one": four(ranks=1), "four": four(ranks=4)}
    found = truth.value(store, question("one.seconds['fit'] / four.seconds['fit']", **names), made)
    assert (found.value, found.problem) == (4.0, "")
    assert f"run {made['one']}: k-means on 1 rank, " in found.words
    assert f"; run {made['four']}: k-means on 4 ranks, " in found.words
    assert truth.value(store, question("argmax(one.waits)", **names), made).value == 1


def test_runs_that_were_not_made_together_are_told_and_made_anew(
    store: Store, up: SessionRecord, learner: Identity
) -> None:
    asked = question("four.x / one.x", four=four(ranks=4), one=four(ranks=1))
    old = complete(store, up, learner, ranks=4, metrics={"x": 4})
    made_earlier(store, old, 3600)
    deck = Deck(deck="d", title="t", questions=(asked,))
    mine = self_study.begin(store, deck, QuizLearner.from_identity(learner))
    mine.answer(asked.id, "4")
    assert mine.view(asked.id, lambda *_: "")["measuring"]["words"].endswith("2 runs of your own are missing.")
    new = complete(store, up, learner, ranks=1, metrics={"x": 1})
    said = truth.value(store, asked, {"four": old, "one": new})
    assert said.value == 4 and re.search(r"they were made 6\d min apart, so what else the machine did", said.words)
    later = complete(store, up, learner, ranks=4, metrics={"x": 3})
    said = truth.value(store, asked, {"four": later, "one": new})
    assert said.value == 3 and "apart" not in said.words


def test_seconds_are_those_of_the_run_where_it_tells_none(store: Store, up: SessionRecord) -> None:
    run = store.run(complete(store, up))
    asked = question("a.seconds", a=four())
    assert truth.value(store, asked, {"a": run.id}).value == pytest.approx(run.finished_at - run.started_at)


@pytest.mark.parametrize(
    ("status", "why"),
    [
        ("failed", r"Run \d+ \(kmeans\) failed: no luck; run it again."),
    ],
)
def test_a_run_that_came_to_nothing_is_a_sentence(store: Store, up: SessionRecord, status: str, why: str) -> None:
    found = truth.value(store, question("a.x", a=four()), {"a": complete(store, up, status=status)})
    assert found.value is None
    assert re.fullmatch(why, found.problem)


@pytest.mark.parametrize(
    ("expression", "metrics", "why"),
    [
        ("a.speed", {"x": 1}, "a has no speed; it has seconds, x"),
        ("a.x / a.y", {"x": 1, "y": 0}, "divides by zero"),
        ("a.x", {"x": {"fit": 1}}, "can't be computed"),
    ],
)
def test_metrics_that_don_t_tell_are_a_sentence(
    store: Store, up: SessionRecord, expression: str, metrics: dict[str, Any], why: str
) -> None:
    found = truth.value(store, question(expression, a=four()), {"a": complete(store, up, metrics=metrics)})
    assert found.value is None
    assert found.problem.startswith("The runs don't tell the answer: ")
    assert why in found.problem


def test_runs_that_are_missing_or_go_on_are_told(store: Store, up: SessionRecord) -> None:
    asked = question("a.x + b.x", a=four(), b=four(ranks=1))
    assert truth.value(store, asked, {}).problem == "There is no run yet for a and b."
    assert "There is no run 99" in truth.value(store, asked, {"a": 99, "b": 99}).problem
    queued = store.submit(up.id, "kmeans", {}, {}).id
    assert truth.value(store, asked, {"a": queued, "b": queued}).problem.endswith("has not ended yet: it is queued.")


@pytest.mark.parametrize(
    ("kind", "unit", "value", "said"),
    [
        ("rank", "", 2.0, "rank 2"),
        ("number", "iterations", 3.0, "3 iterations"),
        ("number", "times", 3449.6, "3,450 times"),
    ],
)
def test_values_are_said_with_their_units(kind: str, unit: str, value: float, said: str) -> None:
    asked = question("a.x", a=four()).model_copy(update={"kind": kind, "unit": unit})
    assert asked.value_words(value) == said


@pytest.mark.real
def test_learners_runs_stay_within_their_limits(store: Store, up: SessionRecord, learner: Identity) -> None:
    store.update_session(up.id, limits=Limits(ranks=2, queued=1))
    now = store.session(up.id)
    with pytest.raises(BadInput, match="ranks is 4: this session allows at most 2"):
        truth.submit(store, now, question("a.x", a=four(ranks=4)), learner)
    both = question("a.x + b.x", a=four(ranks=1), b=four(ranks=2))
    first = truth.submit(store, now, both, learner)
    assert list(first) == ["a"], "one at a time"
    with pytest.raises(BadInput, match="You have 1 unfinished run"):
        truth.submit(store, now, both, learner, have=first)
    store.request_cancel(first["a"])
    second = truth.submit(store, now, both, learner, have=first)
    assert list(second) == ["b"]
    run = store.run(second["b"])
    assert (run.identity_id, run.placement["ranks"], run.placement["mpi"]) == (learner.id, 2, "openmpi")
