"""What cells have reached, and which differences between them are sure."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.report.analysis import cases
from workshop.store.records import RunRecord, Trial
from workshop.study import results
from workshop.study.results import CellResult, best, noise, ratio


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


def test_ratios_and_what_is_sure_of_them() -> None:
    fast, slow, wide = cell("fast", 20.0, 22.0), cell("slow", 10.0, 11.0), cell("wide", 9.0, 25.0)
    apart = ratio(fast, slow)
    assert apart is not None and apart.sure
    assert apart.value == pytest.approx(2.0) and (apart.low, apart.high) == (pytest.approx(20 / 11), 2.2)
    below = ratio(slow, fast)
    assert below is not None and below.sure and below.value == pytest.approx(0.5)
    overlap = ratio(fast, wide)
    assert overlap is not None and not overlap.sure
    assert ratio(fast, cell("none")) is None and ratio(cell("none"), fast) is None


def test_a_single_run_is_lent_the_usual_noise() -> None:
    once, other = cell("once", 100.0), cell("other", 103.0)
    assert not ratio(other, once).sure
    assert ratio(other, once, usual=0.01).sure
    assert noise([once, other]) == results.NOISE
    assert noise([once, cell("a", 95.0, 105.0), cell("b", 98.0, 100.0, 102.0)]) == pytest.approx(0.07)


rates = st.lists(st.floats(0.1, 1e9), min_size=1, max_size=5).map(tuple)


@given(rates, rates)
def test_a_ratio_and_its_inverse_say_the_same(one: tuple[float, ...], other: tuple[float, ...]) -> None:
    there, back = ratio(cell("a", *one), cell("b", *other)), ratio(cell("b", *other), cell("a", *one))
    assert there is not None and back is not None
    assert there.low <= there.value * (1 + 1e-9) and there.value <= there.high * (1 + 1e-9)
    assert there.value * back.value == pytest.approx(1.0)
    assert there.sure is back.sure or there.low == pytest.approx(1.0) or there.high == pytest.approx(1.0)
