"""Numbers as people read them."""

from __future__ import annotations

from datetime import datetime

import pytest

from workshop.core import words


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(3, "5 s"), (44, "45 s"), (119, "120 s"), (600, "10 min"), (7200, "2 h"), (3e7, "347 days"), (3.2e9, "101 years")],
)
def test_a_long_time(seconds: float, said: str) -> None:
    assert words.long(seconds) == said


@pytest.mark.parametrize(
    ("value", "said"),
    [(0.25, "0.25"), (24.31, "24.3"), (99.96, "100"), (999.7, "1,000"), (9800, "9,800"), (1234567, "1.235 million"),
     (2.5e10, "25 billion")],
)  # fmt: skip
def test_a_rate(value: float, said: str) -> None:
    assert words.rate(value) == said


def test_the_verb_behind_a_number() -> None:
    assert [words.verb(number) for number in (0, 1, 2)] == ["are", "is", "are"]
    assert words.verb(1, "was", "were") == "was"


def test_a_moment_is_on_this_machine_s_clock() -> None:
    at = datetime(2026, 3, 4, 15, 6, 30)
    assert words.moment(at.timestamp()) == "04 Mar 15:06"
