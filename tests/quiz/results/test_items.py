"""Questions in figures: beside SciPy for whole classes, and what can't be known of small ones."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from tests.quiz.results.rounds import DECK, deck, made, marks, whole_class
from workshop.quiz.results.items import Item, groups, items, other_scores
from workshop.quiz.results.record import Results

ROWS = st.integers(2, 6).flatmap(
    lambda questions: st.lists(st.lists(st.integers(0, 1), min_size=questions, max_size=questions), max_size=45)
)


def by_id(results: Results) -> Mapping[str, Item]:
    return {item.id: item for item in items(results)}


def counts(item: Item) -> dict[str, int]:
    return {row.text: row.count for row in item.chosen}


@settings(deadline=None)
@given(ROWS)
def test_figures_are_those_of_the_table_of_marks(rows: list[list[int]]) -> None:
    found = items(marks(rows))
    table = np.array(rows, dtype=float)
    for place, item in enumerate(found):
        assert item.answered == item.there == item.judged == len(rows)
        if not rows:
            assert (item.share, item.interval, item.mark, item.points, item.seconds) == (None,) * 5
            continue
        assert item.share == item.mark == item.points == pytest.approx(table[:, place].mean())
        others = np.delete(table, place, axis=1).sum(axis=1)
        value = item.discrimination.value
        if len(rows) < 3 or len(set(table[:, place])) == 1 or len(set(others)) == 1:
            assert value is None
            assert item.discrimination.words.startswith("Not defined: ")
        else:
            assert value == pytest.approx(stats.pointbiserialr(table[:, place], others).statistic, abs=1e-7)
            assert item.discrimination.of == len(rows)
        assert sum(row.count for row in item.chosen) == len(rows)
        for row in item.chosen:
            assert (row.upper or 0) + (row.lower or 0) <= row.count


@pytest.mark.parametrize(
    ("rows", "why"),
    [
        ([], "no answer has been judged"),
        ([[1, 0]], "at least three answers, and there is 1"),
        ([[1, 0], [0, 1]], "at least three answers, and there are 2"),
        ([[1, 0], [1, 1], [1, 0]], "all got the same mark"),
        ([[1, 0], [0, 0], [1, 0]], "all did equally well"),
        ([[1], [0], [1]], "no other question"),
    ],
)
def test_where_discrimination_is_not_defined_it_says_why(rows: list[list[int]], why: str) -> None:
    told = items(marks(rows))[0].discrimination
    assert told.value is None
    assert why in told.words


def test_words_of_discrimination_know_chance() -> None:
    few = items(marks([[1, 1], [1, 1], [0, 0]]))[0].discrimination
    assert few.value == pytest.approx(1)
    assert few.words.endswith("with 3 answers this says next to nothing.")
    many = items(marks([[1, 1], [0, 0]] * 20))[0].discrimination
    assert many.words == "Those who did well on the other questions got it right much more often."
    upside_down = items(marks([[1, 0, 0], [0, 1, 1]] * 20))[0].discrimination
    assert "got it wrong more often" in upside_down.words


@settings(deadline=None)
@given(st.dictionaries(st.integers(1, 200), st.integers(0, 12).map(lambda n: n / 12), max_size=90))
def test_groups_are_the_ends_of_a_class(scores: dict[int, float]) -> None:
    found = groups(scores)
    if not found:
        assert not found.lower
        assert found.words.startswith(("Fewer than 6", "Too many did equally well"))
        return
    share = 0.27 if len(scores) >= 40 else 1 / 3
    size = max(round(share * len(scores)), 1)
    assert len(found.upper) >= size
    assert len(found.lower) >= size
    assert ("27 %" if len(scores) >= 40 else "third") in found.words
    assert min(scores[one] for one in found.upper) > max(scores[one] for one in found.lower)
    middle = set(scores) - found.upper - found.lower
    assert all(scores[one] < min(scores[other] for other in found.upper) for one in middle)


def test_who_came_late_is_measured_by_what_they_were_there_for() -> None:
    late = replace(
        made(deck(3), [{"q1": 0, "q2": 0, "q3": 0}, {"q2": 0, "q3": 1}, {"q2": 0}]),
        absent={"q1": frozenset({2})},
    )
    assert other_scores(late, "q3") == {1: 1.0, 2: 1.0, 3: 0.5}
    found = by_id(late)
    assert (found["q1"].answered, found["q1"].there) == (1, 2)
    assert (found["q3"].answered, found["q3"].there) == (2, 3)


def test_a_wrong_option_that_nobody_takes_or_that_the_best_take_is_said() -> None:
    # The nine best take option 1 of the last question, which is wrong; the weakest nine have it right.
    rows: list[dict[str, Any]] = [{"q1": 0, "q2": 0, "q3": 1}] * 9 + [{"q1": 1, "q2": 1, "q3": 0}] * 9
    told = items(made(deck(3), rows))[2].remarks
    assert told[0] == ("None of 18 learners took C (option 2) and D (option 3): as a wrong answer it convinces nobody.")
    assert told[1].startswith("B (option 1) is wrong and drew 9 of 9 in the upper group, 0 of 9 in the lower one")
    assert items(made(deck(1), [{"q1": 0}] * 4))[0].remarks == (), "of four, it says nothing that nobody took one"


def test_every_type_tells_what_was_answered() -> None:
    rows: list[dict[str, Any]] = [
        {"sum": 16.0, "true": [0, 1], "like": 0, "steps": [0, 1, 2, 3], "who": [0, 1, 2], "word": "rank"},
        {"sum": 2.0, "true": [0, 2], "like": 1, "steps": [0, 2, 1, 3], "who": [1, 0, 2], "word": "thread"},
        {"sum": 2.0, "true": [2], "like": 1, "steps": [0, 2, 1, 3], "who": [1, 0, 2], "word": "Node"},
        {"sum": 7.5, "true": [0], "like": 1, "steps": [3, 2, 1, 0], "who": [2, 1, 0], "word": "node"},
    ]
    found = by_id(made(DECK, rows))
    assert counts(found["sum"]) == {"16": 1, "2": 2, "7.5": 1}
    assert found["sum"].chosen[1].feedback == "That is what it had before; the sum reaches every rank."
    assert found["sum"].remarks[0].startswith("Half of the answers lie between 2 and 9.625, with 4.75 in the middle")
    assert [row.count for row in found["true"].chosen] == [3, 1, 2]
    assert [row.right for row in found["like"].chosen] == [None, None]
    assert (found["like"].share, found["like"].mark, found["like"].judged) == (None, None, 0)
    assert counts(found["steps"]) == {
        "1. forward → 2. backward → 3. all-reduce → 4. update": 1,
        "1 → 3 → 2 → 4": 2,
        "4 → 3 → 2 → 1": 1,
    }
    assert found["steps"].remarks == ("Most often the wrong way round: all-reduce before backward (3 of 4).",)
    assert counts(found["who"])["broadcast – all to one"] == 2
    assert found["who"].remarks == (
        "Most often wrong: broadcast – one to all (3 of 4 had something else, 2 of them broadcast – all to one).",
    )
    assert counts(found["word"]) == {"rank": 1, "thread": 1, "node": 2}, "case doesn't matter"
    assert (found["true"].mark, found["true"].share) == (pytest.approx(1.5 / 4), 0.25), "half right counts in part"
    assert found["world"].answered == 0
    assert found["world"].share is None


@pytest.mark.parametrize("learners", [0, 1, 2, 3])
def test_the_smallest_classes_are_counted(learners: int) -> None:
    for item in items(whole_class(learners)):
        assert item.answered <= item.there == learners
        assert "Fewer than 6" in item.groups
        assert all(row.upper is None for row in item.chosen)
