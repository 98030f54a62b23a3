"""Numbers and words as people type them."""

from __future__ import annotations

import math
import unicodedata

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from workshop.core.errors import BadInput
from workshop.quiz import text_input


@pytest.mark.parametrize(
    ("given", "value"),
    [
        ("1,5", 1.5),
        ("1e3", 1000),
        ("1\u00a0000", 1000),
        ("1\u202f000,5", 1000.5),
        ("1’000.5", 1000.5),
        ("1,234.5", 1234.5),
        ("1.234,5", 1234.5),
        ("12.345.678,9", 12345678.9),
        ("0,125", 0.125),
        ("−3", -3),
        (".5", 0.5),
        ("１２", 12),
    ],
)
def test_numbers_in_the_ways_in_which_people_write_them(given: object, value: float) -> None:
    assert text_input.number(given) == value


@pytest.mark.parametrize(
    ("given", "unit", "value"),
    [
        ("12ms", "ms", 12),
        ("1 000 GB/s", "GB/s", 1000),
        ("25 %", "%", 25),
        ("1,8 ×", "times", 1.8),
        ("3 µs", "μs", 3),
        ("5e2 e", "e", 500),
    ],
)
def test_the_questions_unit_may_stand_behind(given: str, unit: str, value: float) -> None:
    assert text_input.number(given, unit) == value


@pytest.mark.parametrize(
    ("given", "unit", "said"),
    [
        ("1,500", "", "'1,500' could be 1.5 or 1500; write one of them."),
        ("12 s", "ms", "'12 s' is not in ms; give the answer in ms, with or without it."),
        ("25 %", "", "'25 %' has '%' behind the number; the answer should be the number alone."),
        ("about 5", "", "'about 5' is no number; it should be one such as 1.5 or 1e3."),
        ("1,2,3", "", "is no number"),
        ("1e999", "", "is no finite number"),
        ("١٢", "", "is no number"),
        ("9" * 201, "", "has 201 characters"),
        (10**400, "", "is no finite number"),
        (True, "", "is no number"),
    ],
)
def test_what_is_no_number_is_refused_in_one_sentence(given: object, unit: str, said: str) -> None:
    with pytest.raises(BadInput) as refused:
        text_input.number(given, unit)
    told = str(refused.value)
    assert said in told and told.endswith(".") and "\n" not in told and len(told) < 200


WRITTEN = st.text("0123456789.,'eE+- \u00a0−%ms", max_size=12) | st.text(max_size=20)


@settings(max_examples=150, deadline=None)
@given(WRITTEN | st.floats() | st.integers() | st.booleans() | st.none(), st.sampled_from(["", "ms", "%", "times"]))
@example("1e-", "")
def test_whatever_is_typed_is_a_finite_number_or_a_sentence(given: object, unit: str) -> None:
    try:
        assert math.isfinite(text_input.number(given, unit))
    except BadInput as error:
        assert str(error).endswith(".") and "\n" not in str(error)


@settings(max_examples=200, deadline=None)
@given(st.integers(1000, 10**9), st.sampled_from([" ", "'", "\u202f"]))
def test_thousands_apart(value: int, between: str) -> None:
    assert text_input.number(f"{value:,}".replace(",", between)) == value


def test_whole_numbers_and_their_bounds() -> None:
    assert text_input.whole_number("3", "A rank", 0, 3) == 3 and text_input.whole_number(2.0, "A rank", 0, 3) == 2
    for sent in ("4", "-1", "1.5", "1e300"):
        with pytest.raises(BadInput, match="A rank is a whole number from 0 to 3, not "):
            text_input.whole_number(sent, "A rank", 0, 3)


def test_texts() -> None:
    assert text_input.text("  ring \n all-reduce ") == "ring all-reduce"
    assert text_input.text("e\u0301") == "\u00e9"
    for sent, said in [
        ("", "is empty"),
        (" \n", "is empty"),
        ("x" * 201, "201 characters"),
        ("a\0b", "can't be shown"),
    ]:
        with pytest.raises(BadInput, match=said):
            text_input.text(sent)
    for sent in ("\ud800", "\ue000", 5, None, ["a"]):
        with pytest.raises(BadInput):
            text_input.text(sent)
    assert text_input.text("שלום 🙂 <b>") == "שלום 🙂 <b>"


def test_what_is_alike() -> None:
    assert text_input.normalised("  Ring   All-Reduce ") == text_input.normalised("ring all-reduce")
    assert text_input.normalised("Amdahl’s law") == text_input.normalised("amdahl's LAW")
    assert text_input.normalised("STRASSE") == text_input.normalised("straße")
    assert text_input.normalised("e\u0301") == text_input.normalised("\u00c9")
    assert text_input.normalised("all-reduce") != text_input.normalised("allreduce"), "hyphens are as they are written"
    assert text_input.normalised("all reduce") != text_input.normalised("allreduce")


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=30))
def test_case_and_spaces_never_matter(words: str) -> None:
    assert (
        text_input.normalised(f" {words}\t")
        == text_input.normalised(words)
        == text_input.normalised(text_input.normalised(words))
    )
    assert text_input.normalised(unicodedata.normalize("NFD", words)) == text_input.normalised(
        unicodedata.normalize("NFC", words)
    )
