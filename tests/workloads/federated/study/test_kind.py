"""What a study of three ways has found, from seeded runs with known figures."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tests.web import seed as class_seed
from tests.workloads.federated.study import seed
from workshop.core.documents import finite
from workshop.report.rules import holding
from workshop.store.records import SessionRecord
from workshop.store.store import Store
from workshop.study import verdicts
from workshop.study.kinds import report, title
from workshop.workloads.federated.study import kind as guesses
from workshop.workloads.federated.study.kind import WaysReport


@pytest.fixture
def session(store: Store) -> SessionRecord:
    return class_seed.session(store)


def found(store: Store, study_id: int) -> WaysReport:
    told = report(store, store.study(study_id))
    assert isinstance(told, WaysReport)
    return told


def test_what_each_way_came_to(store: Store, session: SessionRecord) -> None:
    told = found(store, seed.study(store, session).id)
    document: dict[str, Any] = json.loads(json.dumps(finite(told.as_json())))
    for way in ("federated", "centralised", "alone"):
        for place, on in enumerate(("held_out", "own")):
            values = [one[way][place] for one in seed.CAME]
            came = document["ways"][way][on]
            assert came["values"] == values
            assert came["mean"] == pytest.approx(np.mean(values))
            assert came["deviation"] == pytest.approx(np.std(values, ddof=1))
            band = document["by_round"][way][on]
            assert band["rounds"] == [1, 2, 3, 4]
            assert band["means"][-1] == pytest.approx(np.mean(values))
            assert (band["lows"][-1], band["highs"][-1]) == (min(values), max(values))
    apart = {(one["one"], one["other"], one["on"]): one for one in document["differences"]}
    assert len(apart) == 6
    alone = apart["federated", "alone", "held_out"]
    expected = np.array([one["federated"][0] / one["alone"][0] - 1 for one in seed.CAME])
    assert alone["share"] == pytest.approx(expected.mean())
    assert alone["share_error"] == pytest.approx(expected.std(ddof=1) / np.sqrt(5))
    assert (alone["better"], alone["sure"]) == (5, True)
    assert (document["published"]["held_out"], document["published"]["own"]) == (0.17, 0.026)
    assert "10:12598" in document["published"]["source"]


def test_the_verdict_says_how_close_and_how_far_above(store: Store, session: SessionRecord) -> None:
    said = found(store, seed.study(store, session).id).verdict
    assert said["verdict"] == (
        "Federated learning is 2.2 points behind pooled images and 50 points above each alone on held-out images, "
        "over 5 seeds."
    )
    assert "federated 92.0 ± 1.6 %; pooled 94.2 ± 0.8 %; alone 42.0 ± 3.2 %" in said["why"]
    assert "50.0 ± 1.9 points above each alone with 5 of 5 seeds." in said["why"]
    assert "--algorithm fedprox" in said["next"]


def came(*values: tuple[float, float, float]) -> list[dict[str, tuple[float, float]]]:
    return [
        dict(zip(("federated", "centralised", "alone"), ((one, one) for one in row), strict=True)) for row in values
    ]


def test_seeds_that_disagree_tell_nothing(store: Store, session: SessionRecord) -> None:
    mixed = came((0.93, 0.94, 0.92), (0.94, 0.93, 0.95), (0.93, 0.92, 0.92), (0.94, 0.95, 0.93), (0.92, 0.93, 0.94))
    said = found(store, seed.study(store, session, came=mixed).id).verdict
    assert said["verdict"].startswith(
        "Federated learning can't be told from pooled images or from each alone on held-out images"
    )
    assert "with 3 of 5 seeds" in said["why"]
    assert "--partition label" in said["next"]


def test_few_seeds_ask_for_more(store: Store, session: SessionRecord) -> None:
    one = found(store, seed.study(store, session, came=seed.CAME[:1]).id)
    assert one.verdict["verdict"].endswith("on held-out images, with one seed.")
    assert "±" not in one.verdict["why"] and "--seeds 5" in one.verdict["next"]
    assert one.as_json()["ways"]["alone"]["own"]["deviation"] is None


def test_before_the_first_end_the_run_that_goes_on_is_there_by_round(store: Store, session: SessionRecord) -> None:
    study = seed.study(store, session, ended=0)
    run = seed.begin(store, session, study.id, 1, rounds=2)
    told = found(store, study.id)
    assert told.now is not None and (told.now.seed, told.now.runs) == (0, [run.id])
    assert told.now.curves["federated", "held_out"] == pytest.approx({1: 0.6, 2: 0.7})
    assert told.verdict["verdict"] == "No seed has come to its end yet."
    store.finish(run.id, "completed", metrics=seed.metrics(seed.CAME[0], "federated"))
    between = found(store, study.id)
    assert between.now is None and not between.seeds
    pooled = seed.begin(store, session, study.id, 2, rounds=3)
    now = found(store, study.id).now
    assert now is not None and max(now.curves["centralised", "own"]) == 3
    assert max(now.curves["federated", "own"]) == 4, "of the way that has ended"
    store.finish(pooled.id, "completed", metrics=seed.metrics(seed.CAME[0], "centralised"))
    seed.end(store, session, study.id, 3)
    ended = found(store, study.id)
    assert ended.now is None and [one.seed for one in ended.seeds] == [0]


def test_a_study_of_before_whose_runs_learned_in_all_ways(store: Store, session: SessionRecord) -> None:
    asked = seed.wanted(2)
    trials = [
        replace(trial, number=number, params={**trial.params, "way": "all"})
        for number, trial in enumerate(asked.trials()[::3], 1)
    ]
    before = {name: value for name, value in asked.description().items() if name != "repeats"} | {"seeds": 2}
    made = store.create_study("ways", "federated", before, trials)
    assert title(store.study(made.id)).endswith("2 seeds")
    store.take_study(made.id, "seed")
    seed.end(store, session, made.id, 1)
    run = seed.begin(store, session, made.id, 2, rounds=1)
    told = found(store, made.id)
    assert [one.scores for one in told.seeds] == [
        {(way, on): score for way in seed.WAYS for on, score in zip(seed.ON, seed.CAME[0][way], strict=True)}
    ]
    assert told.now is not None and told.now.runs == [run.id] and len(told.now.curves) == 6


def test_what_failed_is_named_and_the_others_count(store: Store, session: SessionRecord) -> None:
    told = found(store, seed.study(store, session, failing=(2, 3)).id)
    assert [one.seed for one in told.seeds] == [0, 3, 4]
    assert "Seeds 1 and 2 failed: MemoryError: <b>out</b> of it." in told.verdict["why"]
    assert [trial["status"] for trial in told.as_json()["trials"]].count("failed") == 2
    none = found(store, seed.study(store, session, came=seed.CAME[:1], failing=(1,)).id)
    assert none.verdict["verdict"] == "No seed came to an end."


def test_answers_to_what_is_predicted(store: Store, session: SessionRecord) -> None:
    told = found(store, seed.study(store, session).id)
    behind, above = (guesses.answer(told, other) for other in guesses.ASKS)
    assert behind is not None and above is not None
    assert (behind.value, above.value) == (2.2, 50.0)
    assert behind.margin == 2.0 and above.margin == pytest.approx(
        200 * np.std([0.52, 0.49, 0.48, 0.56, 0.45], ddof=1) / np.sqrt(5), abs=0.06
    )
    assert guesses.answer(found(store, seed.study(store, session, ended=0).id), "alone") is None


def test_each_rule_of_the_verdict(store: Store, session: SessionRecord, monkeypatch: pytest.MonkeyPatch) -> None:
    reached = []

    def watched(rules: Any, facts: Any) -> Any:
        for rule, finding in holding(rules, facts):
            reached.append(rule)
            yield rule, finding

    monkeypatch.setattr(verdicts, "holding", watched)
    far, near = seed.CAME, came(*[(0.93, 0.92 + 0.001 * at, 0.4) for at in range(5)])
    alike = came(*[(0.93, 0.92, 0.92)] * 5)
    for results, settings in ((far[:1], {}), (far, {}), (far, {"algorithm": "fedprox"}), (near, {}), (alike, {})):
        found(store, seed.study(store, session, came=results, **settings).id)
    found(store, seed.study(store, session, ended=0).id)
    found(store, seed.study(store, session, came=far[:1], failing=(1,)).id)
    rules = verdicts.read("ways", "workshop.workloads.federated.study").rules
    assert {rule for rule in reached} == {rule for rule in rules}
