"""Decks and their questions: what they may hold."""

from __future__ import annotations

from typing import Any, get_args

import pytest
from pydantic import ValidationError

from workshop.core.errors import bad_input
from workshop.core.placement import Placement
from workshop.quiz.deck import Deck
from workshop.quiz.parts import Composed, Range, Tolerance

TEXT = {"type": "text", "text": "?", "accept": ["x"]}


def deck(*questions: dict[str, Any], **more: Any) -> Deck:
    named = [{"id": f"q{number}", "text": "?", **question} for number, question in enumerate(questions)]
    return Deck.model_validate({"deck": "d", "title": "t", "questions": named, **more})


def said(*questions: dict[str, Any], **more: Any) -> str:
    with pytest.raises(ValidationError) as refused:
        deck(*questions, **more)
    return str(bad_input(refused.value))


def options(*rights: bool) -> list[dict[str, Any]]:
    return [{"text": f"{number}", "right": right} for number, right in enumerate(rights)]


@pytest.mark.parametrize(
    ("question", "sentence"),
    [
        ({"type": "single", "options": options(False, False)}, "options: 0 of them are right; a single choice has one"),
        (
            {"type": "match", "pairs": [{"left": "a", "right": "x"}, {"left": "b", "right": "y"}], "extra": ["x"]},
            "'x' is there twice",
        ),
        (
            {"type": "number", "answer": 1, "near": [{"answer": "1 +", "feedback": "x"}]},
            "near.0: '1 +' is no arithmetic",
        ),
        ({"type": "number", "answer": float("inf")}, "answer"),
        (
            {"type": "place", "ask": ["ranks"], "right": {}, "near": [{"placement": {"threads": 1}, "feedback": "x"}]},
            "near.0: threads should be in ask",
        ),
        ({"type": "place", "given": {"ranks": 2}, "ask": ["ranks"], "right": {}}, "ranks can't be given and asked for"),
        ({**TEXT, "numbers": {"max": {"values": [1]}}}, "max is the name of a function; a number needs another one"),
    ],
)
def test_questions_that_can_not_be(question: dict[str, Any], sentence: str) -> None:
    assert sentence in said(question)


def test_names_of_questions_are_their_own() -> None:
    assert "id 'x' is already that of question 1" in said({**TEXT, "id": "x"}, {**TEXT, "id": "x"})
    found = deck(TEXT, {**TEXT, "points": 0})
    assert found.question("q1") is found.questions[1]
    with pytest.raises(KeyError):
        found.question("q2")


def test_a_lab_asks_the_short_deck() -> None:
    questions = [{"id": id, "type": "text", "text": "x", "accept": ["x"]} for id in ("a", "b", "c")]
    document = {"deck": "d", "title": "D", "questions": questions}
    assert [question.id for question in Deck.model_validate({**document, "short": ["c", "a"]}).brief().questions] == [
        "c",
        "a",
    ]
    assert Deck.model_validate(document).brief() == Deck.model_validate(document)
    with pytest.raises(ValidationError, match="'z' is the id of no question"):
        Deck.model_validate({**document, "short": ["z"]})
    with pytest.raises(ValidationError, match="the id 'a' is there twice"):
        Deck.model_validate({**document, "short": ["a", "a"]})


def test_what_a_deck_says_for_questions_that_do_not() -> None:
    poll = {"type": "poll", "options": [{"text": "a"}, {"text": "b"}]}
    found = deck(TEXT, {**TEXT, "points": 0, "seconds": 5, "shuffle": True}, poll, points=3, seconds=90, shuffle=False)
    first, second, third = found.questions
    assert (found.points_of(first), found.seconds_of(first), found.shuffles(first)) == (3, 90, False)
    assert (found.points_of(second), found.seconds_of(second), found.shuffles(second)) == (0, 5, True)
    assert found.points_of(third) == 0


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({}, "as values, or as low and high"),
        ({"low": 0, "high": 1, "step": 0}, "greater than 0"),
        ({"low": float("nan"), "high": 1}, "finite"),
        ({"values": [float("inf")]}, "finite"),
    ],
)
def test_ranges_that_can_not_be(given: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ValidationError) as refused:
        Range.model_validate(given)
    assert sentence in str(bad_input(refused.value))


def test_tolerances() -> None:
    assert Tolerance(absolute=0.5).around(100) == 0.5 and Tolerance(relative=0.1).around(-50) == 5
    for given in ({}, {"absolute": 1, "relative": 1}, {"absolute": -1}, {"relative": 11}):
        with pytest.raises(ValidationError):
            Tolerance.model_validate(given)


def test_fields_that_can_be_composed_are_fields_of_a_placement() -> None:
    assert set(get_args(Composed)) <= Placement.model_fields.keys()


def test_chosen_questions_of_a_deck_with_a_short_quiz_can_be_stored_and_read() -> None:
    whole = deck(TEXT, TEXT, TEXT, short=["q0", "q1"])
    for ids in (["q2"], ["q1", "q0"]):
        chosen = Deck.model_validate(whole.selection(ids).model_dump(mode="json"))
        assert [question.id for question in chosen.questions] == ids
