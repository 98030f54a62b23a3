"""Numbers as people read them."""

from __future__ import annotations

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
