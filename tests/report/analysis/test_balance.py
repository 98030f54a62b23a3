"""From phases to balance, exchange and waiting."""

from __future__ import annotations

import pytest

from tests.report.analysis.cases import metrics, times
from workshop.core import words
from workshop.report.analysis.balance import balance


def test_what_exceeds_the_least_communication_is_waiting() -> None:
    found = balance(times([2.0, 3.0], [1.25, 0.25], [0.0, 0.5]), 2)
    assert found is not None
    assert found.exchange == 0.25
    assert found.waiting == (1.0, 0.5)
    assert found.slowest == 1
    assert found.lag == pytest.approx(0.5)
    assert found.imbalance == pytest.approx(3.0 / 2.5 - 1)
    assert found.exchange_share == pytest.approx(0.5 / 7.0)
    assert found.waiting_share == pytest.approx(1.5 / 7.0)
    assert found.waste == pytest.approx(0.5 / 3.75)


@pytest.mark.parametrize(
    ("value", "expected"), [(8.5e-5, "85 µs"), (0.0013, "1.3 ms"), (4.21, "4.21 s"), (200, "3.33 min")]
)
def test_seconds(value: float, expected: str) -> None:
    assert words.seconds(value) == expected


@pytest.mark.parametrize(
    ("numbers", "expected"), [([2, 0], "ranks 0 and 2"), ([0, 1, 4, 5, 6, 9], "ranks 0, 1, 4 to 6 and 9")]
)
def test_numbered(numbers: list[int], expected: str) -> None:
    assert words.numbered("rank", numbers) == expected


def test_what_is_told_apart_in_every_step_stays_apart() -> None:
    """Training tells the same `communicate` on all ranks, and `wait` beside it; rounding makes neither negative."""
    shared = 0.1 + 0.2
    found = balance(times([1.0, 2.0], [shared, 0.3], [1.0, 0.0], [0.1, 0.1]), 2)
    assert found is not None
    assert found.exchange == pytest.approx(0.3)
    assert found.waiting == pytest.approx((1.0, 0.0)) and min(found.waiting) >= 0
    assert found.input == (0.1, 0.1)
    assert found.total == pytest.approx(1.0 + 2.0 + 2 * 0.3 + 1.0 + 2 * 0.1)
    assert found.input_share == pytest.approx(0.2 / found.total)


def test_a_runs_own_sums_are_taken_in_place_of_events_with_the_steps_that_compile() -> None:
    told = balance(times([30.0, 31.0], [0.2, 0.2], steps=102), 2, metrics())
    assert told is not None
    assert told.compute == (1.1, 1.1) and told.steps == 100
    assert told.exchange == 0.15 and told.waiting == (0.03, 0.03) and told.input == (0.02, 0.02)
