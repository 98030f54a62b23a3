"""From phases to balance, exchange and waiting."""

from __future__ import annotations

import pytest

from tests.analysis.cases import times
from workshop.analysis import words
from workshop.analysis.balance import balance


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


def test_a_rank_that_told_nothing_has_not_computed() -> None:
    found = balance({"time.compute": {0: (20, 2.0)}}, 2)
    assert found is not None and found.compute == (2.0, 0.0) and found.imbalance == pytest.approx(1.0)


def test_no_compute_no_balance() -> None:
    assert balance({"inertia": {0: (20, 5.0)}}, 2) is None


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (0, "0 s"),
        (8.5e-5, "85 µs"),
        (0.0013, "1.3 ms"),
        (0.602, "602 ms"),
        (4.21, "4.2 s"),
        (75, "75 s"),
        (200, "3.3 min"),
    ],
)
def test_seconds(value: float, expected: str) -> None:
    assert words.seconds(value) == expected


@pytest.mark.parametrize(
    ("numbers", "expected"),
    [
        ([3], "rank 3"),
        ([2, 0], "ranks 0 and 2"),
        ([0, 1, 2, 3], "ranks 0 to 3"),
        ([0, 1, 4, 5, 6, 9], "ranks 0, 1, 4 to 6 and 9"),
    ],
)
def test_numbered(numbers: list[int], expected: str) -> None:
    assert words.numbered("rank", numbers) == expected
