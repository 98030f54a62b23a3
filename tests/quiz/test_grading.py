"""How answers are judged: shares of the points, what is right, and what people are told."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.quiz.asked import grade
from workshop.quiz.deck import Deck, ask
from workshop.quiz.parts import Tolerance
from workshop.quiz.types import DrawnQuestion, Mark
from workshop.quiz.types.match import ordered
from workshop.quiz.types.number import closeness, within

NUMBERS = st.floats(-1e9, 1e9)


def asked(type: str, **question: Any) -> DrawnQuestion:
    asking = {"id": "q", "text": "?", "type": type, **question}
    deck = Deck.model_validate({"deck": "d", "title": "t", "questions": [asking]})
    return ask(deck, deck.questions[0], "seed")


def options(rights: str, letters: str) -> list[dict[str, Any]]:
    return [{"text": letter, "right": letter in rights, "feedback": f"about *{letter}*"} for letter in letters]


def test_one_of_several() -> None:
    one = asked("single", options=options("b", "abc"))
    assert grade(one, 1) == Mark(1.0, True, ("<p>about <em>b</em></p>",))
    assert grade(one, 0) == Mark(0.0, False, ("<p>about <em>a</em></p>",))
    silent = asked("single", options=[{"text": "x", "right": True}, {"text": "y"}])
    assert grade(silent, 1).feedback == ()


@pytest.mark.parametrize(
    ("chosen", "share", "right"),
    [([0, 1], 1.0, True), ([0], 0.5, False), ([0, 1, 2], 0.5, False), ([0, 2], 0.0, False), ([2, 3], 0.0, False)],
)
def test_several_of_several(chosen: list[int], share: float, right: bool) -> None:
    mark = grade(asked("multiple", options=options("ab", "abcd")), chosen)
    assert (mark.share, mark.right) == (share, right)
    assert sum("about" in said for said in mark.feedback) == len(chosen)
    missed = 2 - len({0, 1} & set(chosen))
    assert any("missing" in said for said in mark.feedback) is (missed > 0)


@settings(max_examples=80, deadline=None)
@given(st.sets(st.integers(0, 5), min_size=1), st.sets(st.integers(0, 5), min_size=1))
def test_choosing_more_never_pays_unless_it_is_right(rights: set[int], chosen: set[int]) -> None:
    one = asked("multiple", options=[{"text": f"{n}", "right": n in rights} for n in range(6)])
    mark = grade(one, sorted(chosen))
    assert 0 <= mark.share <= 1 and mark.right is (chosen == rights) and (mark.share == 1.0) is mark.right
    for more in set(range(6)) - chosen:
        other = grade(one, sorted({*chosen, more}))
        assert other.share >= mark.share if more in rights else other.share <= mark.share


def test_a_number_and_what_is_near_it() -> None:
    one = asked(
        "number",
        text="{n}",
        numbers={"n": {"values": [4]}},
        answer="n * 10",
        tolerance={"absolute": 1},
        near=[
            {"answer": "n", "feedback": "that is {n}"},
            {"answer": 50, "tolerance": {"absolute": 5}, "feedback": "far"},
            {"answer": 52, "feedback": "never told, the one before comes first"},
        ],
    )
    assert grade(one, 40.0) == grade(one, 41.0) == grade(one, 39.0) == Mark(1.0, True)
    assert grade(one, 41.01) == Mark(0.0, False)
    assert grade(one, 4.5) == Mark(0.0, False, ("<p>that is 4</p>",))
    assert grade(one, 52.0).feedback == ("<p>far</p>",)


@settings(max_examples=200, deadline=None)
@given(NUMBERS, st.floats(0, 1e6), st.booleans())
def test_the_edge_of_a_tolerance_is_within(right: float, off: float, relative: bool) -> None:
    tolerance = Tolerance(relative=off / 1e5) if relative else Tolerance(absolute=off)
    allowed = tolerance.around(right)
    assert within(right, right, tolerance)
    assert within(right + allowed, right, tolerance) and within(right - allowed, right, tolerance)
    assume(allowed > 1e-6 * max(1.0, abs(right)))
    assert not within(right + 1.001 * allowed, right, tolerance)
    assert not within(right - 1.001 * allowed, right, tolerance)


def test_a_tolerance_of_tenths_is_exact() -> None:
    assert within(1.1, 1.0, Tolerance(absolute=0.1)) and within(0.3, 0.1 + 0.2, Tolerance(absolute=0))
    assert not within(1.2, 1.0, Tolerance(absolute=0.1))


@settings(max_examples=60, deadline=None)
@given(st.integers(3, 6), st.data())
def test_order_counts_pairs_beyond_chance(count: int, data: st.DataObject) -> None:
    places = data.draw(st.permutations(range(count)))
    share = ordered(places)
    # Kendall's tau by its definition: pairs that agree less those that don't, of all pairs.
    signs = [1 if b > a else -1 for a, b in itertools.combinations(places, 2)]
    assert share == pytest.approx(max(0.0, sum(signs) / len(signs)))
    mark = grade(asked("order", items=[f"{n}" for n in range(count)]), list(places))
    assert mark.share == share and mark.right is (list(places) == list(range(count))) and (share == 1.0) is mark.right


def test_a_few_words() -> None:
    one = asked(
        "text",
        accept=["ring all-reduce", "Amdahl's law"],
        near=[
            {"accept": ["broadcast", "Bcast"], "feedback": "one way"},
            {"accept": ["gather"], "feedback": "the other"},
        ],
    )
    for words in ("Ring  All-Reduce", " ring all-reduce", "AMDAHL’S LAW"):
        assert grade(one, words) == Mark(1.0, True)
    assert grade(one, "bcast") == Mark(0.0, False, ("<p>one way</p>",))
    assert grade(one, "allreduce") == Mark(0.0, False)


def predicted(**more: Any) -> DrawnQuestion:
    runs = {"one": {"workload": "kmeans"}}
    return asked("predict", runs=runs, truth="one.seconds", **more)


def test_predictions_by_closeness() -> None:
    one = predicted(tolerance={"relative": 0.1})
    assert grade(one, 10.0, 10.0) == grade(one, 11.0, 10.0) == grade(one, 9.0, 10.0) == Mark(1.0, True)
    assert grade(one, 13.0, 10.0) == Mark(pytest.approx(0.5), False)
    assert grade(one, 15.0, 10.0).share == pytest.approx(0.0)
    assert grade(one, 100.0, 10.0) == Mark(0.0, False)
    loose = predicted(tolerance={"relative": 0.5})
    assert grade(loose, 0.0, 10.0).share == grade(loose, 20.0, 10.0).share == 0.0
    assert grade(loose, 2.0, 3450.0).share < 0.01 and grade(loose, 17.5, 10.0).share == pytest.approx(0.5)
    assert grade(predicted(tolerance={"relative": 2.0}), 31.0, 10.0).share == 0.0
    exact = predicted(tolerance={"absolute": 0})
    assert grade(exact, 3.0, 3.0) == Mark(1.0, True) and grade(exact, 3.1, 3.0) == Mark(0.0, False)
    with pytest.raises(ValueError, match="has not been measured"):
        grade(one, 10.0)


@settings(max_examples=150, deadline=None)
@given(NUMBERS, NUMBERS, NUMBERS, st.floats(0, 10), st.booleans())
def test_closer_is_never_worse(truth: float, first: float, second: float, off: float, relative: bool) -> None:
    tolerance = Tolerance(relative=off) if relative else Tolerance(absolute=off)
    near, far = sorted((first, second), key=lambda answer: abs(answer - truth))
    assert 0 <= closeness(far, truth, tolerance) <= closeness(near, truth, tolerance) <= 1
    assert closeness(truth, truth, tolerance) == 1.0
