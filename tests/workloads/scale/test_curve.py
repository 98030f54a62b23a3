"""Curves from files: what is read, and each refusal in a sentence."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workshop.core.errors import BadInput
from workshop.workloads.scale.regression import read_curve


def test_a_curve_has_its_points() -> None:
    curve = read_curve("\ufeffRate, workers\n52.4,1\n\n378,8\n", "k80.csv")
    assert (curve.workers, curve.rates) == ((1, 8), (52.4, 378.0))


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "the first line should name the columns"),
        ("workers,rate\n1,52\n8\n", "line 3: there are 1 values for 2 columns"),
        ("workers,rate\n1,0\n", "line 2: rate is '0'; it should be a finite number above 0"),
        ("workers,rate\n1,many\n", "rate is 'many'"),
        ("workers,rate\n1.5,3\n", "workers is '1.5'; it should be a whole number"),
    ],
)
def test_a_damaged_curve_is_refused_with_its_place(text: str, sentence: str) -> None:
    with pytest.raises(BadInput, match=r"k80\.csv") as refused:
        read_curve(text, "k80.csv")
    assert sentence in str(refused.value)


@given(st.text(max_size=200))
def test_any_text_is_a_curve_or_bad_input(text: str) -> None:
    try:
        curve = read_curve(text, "any.csv")
    except BadInput:
        return
    assert len(curve.workers) == len(curve.rates) >= 2
