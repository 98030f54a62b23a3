"""What cells have reached, which differences between them are sure, and which settings mattered."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from tests.report.analysis import cases
from workshop.store.records import RunRecord, Trial
from workshop.study import results
from workshop.study.results import CellResult, Paired, best, compare, effects, standard_error


def cell(label: str, *rates: float) -> CellResult:
    status = "completed" if rates else "waiting"
    return CellResult(label, {"label": label}, {}, {}, rates, tuple(range(1, len(rates) + 1)), status)


def trial(number: int, label: str, run: int | None = None, **changes: Any) -> Trial:
    return replace(Trial(number, label, {}, {"ranks": 1}, 1, run, point={"at": label}), **changes)


def run(number: int, rate: Any = None, **changes: Any) -> RunRecord:
    metrics = {} if rate is None else {"speed": rate}
    return replace(cases.run(), **{"id": number, "status": "completed", "metrics": metrics, "error": None, **changes})


def test_one_for_each_cell_in_order_of_appearance() -> None:
    trials = [
        trial(1, "b", 1),
        trial(2, "a", 2),
        trial(3, "b", 3, point={"at": "elsewhere"}),
        trial(4, "a", 4),
        trial(5, "b", 5),
    ]
    runs = {number: run(number, 10.0 * number) for number in range(1, 6)}
    found = results.results(trials, runs, "speed")
    assert [(one.label, one.point["at"], one.rates, one.runs) for one in found] == [
        ("b", "b", (10.0, 50.0), (1, 5)),
        ("a", "a", (20.0, 40.0), (2, 4)),
        ("b", "elsewhere", (30.0,), (3,)),
    ]
    assert [one.median for one in found] == [30.0, 30.0, 30.0]
    assert (found[0].low, found[0].high, found[0].run) == (10.0, 50.0, 1)
    told = found[0].as_json()
    assert (told["rate"], told["repeats"], told["runs"], told["status"], told["why"]) == (
        30.0,
        2,
        [1, 5],
        "completed",
        None,
    )


@pytest.mark.parametrize(
    ("one", "became", "why"),
    [
        (trial(1, "a", 1), "completed", ""),
        (trial(1, "a", 2), "failed", "ValueError: no luck"),
        (trial(1, "a", 5), "failed", "Its run has no metric speed."),
        (trial(1, "a", error={"type": "Impossible", "message": "no such place."}), "failed", "no such place."),
        (trial(1, "a", 4, pruned={"why": "too slow", "rate": 3.0, "seconds": 1.0}), "pruned", "too slow"),
    ],
)
def test_what_a_cell_is(one: Trial, became: str, why: str) -> None:
    runs = {
        1: run(1, 5.0),
        2: run(2, status="failed", error={"type": "ValueError", "message": "no\nluck"}),
        3: run(3, status="running"),
        4: run(4, status="cancelled"),
        5: run(5, math.nan),
        6: run(6, True),
    }
    (found,) = results.results([one], runs, "speed")
    assert (found.status, found.why) == (became, why)
    assert found.pruned_at == (3.0 if became == "pruned" else None)
    assert found.run == (1 if became == "completed" else 4 if became == "pruned" else None)
    assert found.failures == (became == "failed")


def test_the_best_is_the_largest_median_not_the_luckiest_run() -> None:
    lucky, steady = cell("lucky", 1.0, 2.0, 99.0), cell("steady", 9.0, 10.0, 11.0)
    assert best([lucky, steady, cell("none")]) is steady
    assert best([lucky]) is lucky and best([cell("none")]) is None
    assert [one.label for one in results.ranked([lucky, cell("none"), steady])] == ["steady", "lucky"]


@pytest.mark.parametrize(
    ("one", "other", "told"),
    [
        ((20, 21, 22), (10, 11, 12), "apart"),
        ((100, 101, 100), (100, 101, 99), "alike"),
        ((100, 101, 130), (100, 120, 125), "unsure"),
        ((20, 22), (10, 11), "unsure"),
        ((20, 21, 22), (), "unsure"),
    ],
)
def test_a_comparison_takes_three_repeats(one: tuple[float, ...], other: tuple[float, ...], told: str) -> None:
    first, second = cell("one", *one), cell("other", *other)
    assert compare(first, second) == compare(second, first) == told
    assert compare(first, None) == "unsure"
    assert results.gain(cell("a", 20.0), cell("b", 10.0)) == 2 and results.gain(first, None) == 0


@given(st.floats(0.1, 10), st.floats(0.1, 10))
def test_factors_that_multiply_are_found_again(ranks: float, threads: float) -> None:
    points = [{"ranks": a, "threads": b, "same": 0} for a, b in product((1, 2), (1, 2))]
    rates = [
        100 * (ranks if point["ranks"] == 2 else 1) * (threads if point["threads"] == 2 else 1) for point in points
    ]
    found = {effect.axis: effect for effect in effects(points, rates)}
    assert set(found) == {"ranks", "threads"}, "what has one value has no effect"
    assert found["ranks"].factor == pytest.approx(max(ranks, 1 / ranks))
    assert found["threads"].factor == pytest.approx(max(threads, 1 / threads))
    if ranks > 1.001:
        assert (found["ranks"].best, found["ranks"].worst) == (2, 1)


def test_a_value_does_not_pay_for_its_company() -> None:
    """Two ranks, far faster than one, were only tried with one thread; on one rank, two threads are twice as fast."""
    points = [{"ranks": 1, "threads": 1}, {"ranks": 1, "threads": 2}, {"ranks": 2, "threads": 1}]
    found = {one.axis: one for one in effects(points, [10.0, 20.0, 100.0])}
    assert (found["threads"].best, found["threads"].factor) == (2, pytest.approx(2.0))
    assert (found["ranks"].best, found["ranks"].factor) == (2, pytest.approx(10.0))
    assert effects([{"a": 1, "b": 1}, {"a": 2, "b": 2}], [1.0, 2.0]) == [], "both have changed"


@given(st.lists(st.tuples(st.floats(0.01, 1.0), st.floats(0.01, 1.0)), min_size=2, max_size=30))
def test_differences_are_taken_seed_by_seed(values: list[tuple[float, float]]) -> None:
    one, other = np.array(values).T
    found = Paired(tuple(values))
    assert found.mean == pytest.approx(np.mean(one - other), abs=1e-12)
    assert standard_error(found.differences) == pytest.approx(stats.sem(one - other), abs=1e-12)
    assert found.shares == pytest.approx(one / other - 1)


def test_five_seeds_that_agree_are_sure() -> None:
    five, four, tied = (Paired(((0.9, 0.5),) * 5), Paired(((0.9, 0.5),) * 4), Paired((*((0.9, 0.5),) * 4, (0.5, 0.5))))
    assert five.sure
    assert (four.agreed, four.sure) == (True, False), "so few can all agree by chance"
    assert not tied.agreed
    assert standard_error([0.4]) is None and Paired(((0.5, 0.0),)).shares == []
