"""Questions in figures, beside SciPy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from tests.quiz.results.rounds import DECK, deck, made, marks
from workshop.quiz.results.findings import Item, items, other_scores
from workshop.quiz.results.record import Results

ROWS = st.integers(1, 6).flatmap(
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
            assert (item.share, item.discrimination) == (None, None)
            continue
        assert item.share == pytest.approx(table[:, place].mean())
        others = np.delete(table, place, axis=1).sum(axis=1)
        if len(rows) < 3 or len(set(table[:, place])) == 1 or len(set(others)) == 1:
            assert item.discrimination is None
        else:
            expected = stats.pointbiserialr(table[:, place], others).statistic
            assert item.discrimination == pytest.approx(expected, abs=1e-7)
        assert sum(row.count for row in item.chosen) == len(rows)


def test_who_came_late_is_measured_by_what_they_were_there_for() -> None:
    late = replace(
        made(deck(3), [{"q1": 0, "q2": 0, "q3": 0}, {"q2": 0, "q3": 1}, {"q2": 0}]),
        absent={"q1": frozenset({2})},
    )
    assert other_scores(late, "q3") == {1: 1.0, 2: 1.0, 3: 0.5}
    found = by_id(late)
    assert (found["q1"].answered, found["q1"].there) == (1, 2)
    assert (found["q3"].answered, found["q3"].there) == (2, 3)


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
    assert found["sum"].commonest_wrong == found["sum"].chosen[1]
    assert [row.count for row in found["true"].chosen] == [3, 1, 2]
    assert [row.right for row in found["like"].chosen] == [None, None]
    assert (found["like"].share, found["like"].commonest_wrong, found["like"].judged) == (None, None, 0)
    assert counts(found["steps"]) == {
        "1. forward → 2. backward → 3. all-reduce → 4. update": 1,
        "1 → 3 → 2 → 4": 2,
        "4 → 3 → 2 → 1": 1,
    }
    assert counts(found["who"])["broadcast – all to one"] == 2
    assert counts(found["word"]) == {"rank": 1, "thread": 1, "node": 2}, "case doesn't matter"
    assert found["true"].share == 0.25, "half right isn't right"
    assert found["world"].answered == 0
    assert found["world"].share is None
