"""What is said of a class: questions to go over again, marks by learner, the verdict."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from tests.quiz.results.rounds import DECK, made, marks
from workshop.quiz.results import cards
from workshop.quiz.results.findings import find, learners


def test_questions_to_go_over_again_come_with_what_to_say() -> None:
    assert find(marks([[1, 1, 1]] * 9 + [[1, 0, 1]])).revision == ()
    found = find(made(DECK, [{"sum": 16.0, "like": 0}] * 6 + [{"sum": 2.0, "like": 1}] * 4))
    assert [item.id for item in found.revision] == ["sum"], "a poll is nothing to go over again"
    (card,) = (card for card in cards.summary(found) if card.name == "revision")
    assert "2 (4 of 10)" in str(card) and "That is what it had before; the sum reaches every rank." in str(card)
    assert found.verdict["next"] == "Go over question 2 again."


def test_learners_are_told_what_they_had_a_part_in() -> None:
    rows: list[dict[str, Any]] = [{"world": 0, "sum": 16.0, "true": [0], "like": 1}, {"world": 1, "sum": 16.0}, {}]
    first, second, third = learners(replace(made(DECK, rows), absent={"world": frozenset({3})}))
    assert (first.points, first.marks, first.possible) == (3.5, 3.5, 7.0)
    assert (first.right, first.judged, first.answered, first.there) == (2, 3, 4, 7)
    assert (first.wrong, first.missed) == (("true",), ("steps", "who", "word"))
    assert (second.place, second.points, second.wrong) == (2, 2.0, ("world",))
    assert (third.place, third.points, third.possible, third.there) == (3, 0.0, 6.0, 6)


def test_equal_points_share_a_place() -> None:
    assert [one.place for one in learners(marks([[1, 0], [1, 1], [0, 1], [0, 0]]))] == [1, 2, 2, 4]


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        ([], "Nobody answered"),
        ([[1, 1]], "The class knows nearly all of this: 100 % of the marks"),
        ([[0, 0]] * 6, "The class does not know most of this yet: 0 % of the marks"),
    ],
)
def test_the_verdict_is_by_the_share_of_the_marks(rows: Sequence[Sequence[int]], told: str) -> None:
    assert find(marks(rows)).verdict["verdict"] == told


def test_a_round_without_marks_has_a_verdict_too() -> None:
    assert find(made(DECK, [{}, {}])).verdict["verdict"] == "Nobody answered"
    assert find(made(DECK, [{"like": 0}, {"like": 1}])).verdict["verdict"] == "There are answers, but no marks"
