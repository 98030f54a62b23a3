"""Arithmetic of decks: what it comes to, and that nothing else of Python can be asked for."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from workshop.quiz.expressions import FUNCTIONS, evaluate, parse

RUNS = {
    "one": {"seconds": 8.0, "waits": [0.1, 0.7, 0.2], "data": "photo", "nested": {"a": [4]}, "done": True},
    "four": {"seconds": 2.5, "waits": []},
    "n": 3,
}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1 + 2 * 3", 7),
        ("-n ** 2", -9),
        ("one.seconds / four.seconds", 3.2),
        ("argmax(one.waits)", 1),
        ("argmin(one.waits) + len(one.waits)", 3),
        ("round(mean(one.waits), 3)", 0.333),
        ("max(one.waits) - min(n, 2)", -1.3),
        ("one['seconds'] + one.nested['a'][0]", 12),
        ("sqrt(16) + log2(8) + ceil(0.1) + floor(1.9) + abs(-1) + sum(one.waits)", 11),
    ],
)
def test_what_it_comes_to(text: str, value: float) -> None:
    assert evaluate(text, RUNS) == pytest.approx(value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "'' is no arithmetic"),
        ("1 +", "is no arithmetic"),
        ("(" * 400, "is no arithmetic"),
        ("1" * 501, "at most 500 characters"),
        ("m + 1", "names m, which is not known; it should be one of one, four, n"),
        ("True", "has yes and no in it"),
        ("'a'", "is no arithmetic (constant)"),
        ("n if n else 1", "is no arithmetic (ifexp)"),
        ("lambda: n", "is no arithmetic (lambda)"),
        ("(n := 2)", "is no arithmetic"),
        ("one.waits[-1]", "is no arithmetic"),
        ("__import__('os')", "is no arithmetic (call)"),
        ("n.__class__", "is no arithmetic (attribute)"),
        ("one.waits.append", "is no arithmetic"),
        ("max(*one.waits)", "is no arithmetic"),
    ],
)
def test_nothing_else_can_be_asked_for(text: str, said: str) -> None:
    with pytest.raises(ValueError) as refused:
        parse(text, RUNS)
    assert said in str(refused.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("1 / (n - 3)", "'1 / (n - 3)' divides by zero"),
        ("one.minutes", "one has no minutes; it has seconds, waits, data, nested, done"),
        ("one.waits[3]", "one.waits has no 3"),
        ("n.seconds", "n has no seconds"),
        ("one.data", "'one.data' can't be computed: it is no number"),
        ("one.data + 1", "can't be computed"),
        ("one.waits * 10000000000", "'one.waits' can't be computed: it is no number"),
        ("sqrt(-n)", "'sqrt(-n)' can't be computed"),
        ("argmax(four.waits)", "can't be computed"),
        ("(-8) ** 0.5", "it is no number"),
        ("n ** 1001", "a power of 1001 is too large"),
        ("1e308 * 10", "is no finite number"),
    ],
)
def test_what_has_no_value(text: str, said: str) -> None:
    with pytest.raises(ValueError) as refused:
        evaluate(text, RUNS)
    assert said in str(refused.value) and "\n" not in str(refused.value)


WORDS = ("n", "one", ".seconds", ".waits", "**", "//", "[0]", "1e9", "'x'", *FUNCTIONS)
PIECES = st.sampled_from([*"()+-*/%,2. ", *WORDS])


@settings(max_examples=150, deadline=None)
@given(st.lists(PIECES, max_size=12).map("".join) | st.text(max_size=12))
def test_whatever_is_written_is_a_finite_number_or_a_sentence(text: str) -> None:
    try:
        assert math.isfinite(evaluate(text, RUNS))
    except ValueError as error:
        assert str(error)


@settings(max_examples=200, deadline=None)
@given(st.integers(-999, 999), st.integers(-999, 999), st.integers(1, 99))
def test_it_computes_as_python_does(a: int, b: int, c: int) -> None:
    for text in (
        "a + b * c",
        "(a - b) / c",
        "a // c + b % c",
        "max(a, b) ** 2 - min(a, b, c)",
        "round(a / c) - ceil(b / c)",
    ):
        names = {"a": a, "b": b, "c": c}
        assert evaluate(text, names) == pytest.approx(eval(text, {"ceil": math.ceil}, names))


@pytest.mark.parametrize("function", sorted(FUNCTIONS))
@pytest.mark.parametrize("given", ["one", "one.nested", "one.data", "one, 1", "texts"])
def test_functions_are_of_numbers_only(function: str, given: str) -> None:
    with pytest.raises(ValueError, match="can't be computed"):
        evaluate(f"{function}({given})", {**RUNS, "texts": ["a", "b"]})
