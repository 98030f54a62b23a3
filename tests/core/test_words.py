"""Numbers as people read them."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workshop.core import words

UNITS = ("", "s", "B", "B/s", "%", "points/s")
SCALES = {"P": 1e15, "T": 1e12, "G": 1e9, "M": 1e6, "k": 1e3, "": 1.0, "m": 1e-3, "µ": 1e-6}
POWERS = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")
values = st.floats(1e-9, 1e18)


def read_back(text: str, unit: str) -> float:
    """The number that words say."""
    digits, _, rest = text.partition(" ")
    minutes = rest.endswith("min")
    prefix = rest.removesuffix("min" if minutes else unit).strip()
    mantissa, _, power = digits.replace(",", "").partition("·10")
    return float(mantissa) * 10.0 ** int(power.translate(POWERS) or 0) * SCALES[prefix] * (60 if minutes else 1)


@given(values, st.sampled_from(UNITS))
def test_words_differ_from_the_number_by_less_than_half_a_percent(value: float, unit: str) -> None:
    text = words.quantity(value, unit)
    assert read_back(text, unit) == pytest.approx(value, rel=0.00501)
    assert not re.search(r"\de[+-]?\d", text)


@given(values, st.floats(1.02, 1e6), st.sampled_from(UNITS))
def test_a_larger_number_has_words_of_a_larger_number(value: float, times: float, unit: str) -> None:
    assert read_back(words.quantity(value, unit), unit) < read_back(words.quantity(times * value, unit), unit)


@given(st.integers(-99_999, 99_999))
def test_whole_numbers_of_five_digits_are_exact(number: int) -> None:
    assert words.quantity(number) == f"{number:,}"


@pytest.mark.parametrize(
    ("value", "unit", "said"),
    [(98_896_684.0, "points/s", "98.9 M points/s"), (3.9312, "s", "3.93 s"), (0.0009999, "s", "1 ms"), (0, "s", "0 s"),
     (210.0, "s", "3.5 min"), (490_712, "B", "491 kB"), (12, "B", "12 B"), (2.1e8, "B/s", "210 MB/s"),
     (273_280, "points", "273 k points"), (2656, "", "2,656"), (28_281.2, "", "28,300"), (999.7, "", "1,000"),
     (99_960.0, "", "100 k"), (25.89, "%", "25.9 %"), (3.787e-13, "", "3.79·10⁻¹³"), (1e-3, "", "0.001"),
     (-0.0, "", "0"), (float("nan"), "s", "not a number")],
)  # fmt: skip
def test_words_of_a_number(value: float, unit: str, said: str) -> None:
    assert words.quantity(value, unit) == said


@pytest.mark.parametrize(
    ("value", "unit", "said"),
    [(98_896_684.2, "points/s", "98,896,684 points/s"), (3.9312346, "s", "3.931235 s"), (273_280, "", "273,280")],
)
def test_all_digits_of_a_number(value: float, unit: str, said: str) -> None:
    assert words.exact(value, unit) == said


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(3, "5 s"), (44, "45 s"), (119, "120 s"), (600, "10 min"), (7200, "2 h"), (3e7, "347 days"), (3.2e9, "101 years")],
)
def test_a_long_time(seconds: float, said: str) -> None:
    assert words.long(seconds) == said
