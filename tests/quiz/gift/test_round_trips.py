"""Decks that are written as GIFT and read again: equal, but for what is listed as lost."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, reject, settings

from tests.quiz.decks import decks
from tests.quiz.gift.carried import there_and_back
from workshop.core.errors import BadInput
from workshop.quiz.deck import Deck
from workshop.quiz.gift.writer import TYPES, write
from workshop.quiz.reader import read as read_deck
from workshop.quiz.reader import shipped

NEAR = [{"accept": ["there"], "feedback": "-> here"}]
ARROW = {"type": "text", "text": "Which way?", "accept": ["back"], "near": NEAR}
SLOW = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.filter_too_much]


@given(deck=decks(most=2))
@settings(max_examples=40, deadline=None, suppress_health_check=SLOW)
@example(deck=Deck.model_validate({"deck": "a", "title": "a", "questions": [{**ARROW, "id": "a"}]}))
def test_a_deck_comes_back_without_what_was_lost(tmp_path: Path, deck: Deck) -> None:
    if not any(question.type in TYPES for question in deck.questions):
        with pytest.raises(BadInput, match="has no question that GIFT can carry"):
            write(deck)
        return
    try:
        write(deck)
    except BadInput:  # of types that GIFT has, but with texts that it can't carry
        reject()
    _, lost = there_and_back(deck, tmp_path / "deck.gift")
    for question in deck.questions:
        if question.type not in TYPES:
            assert "question" in lost[question.id]


def test_the_labs_decks_come_back(tmp_path: Path) -> None:
    assert shipped()
    for path in shipped().values():
        deck = read_deck(path)
        if all(question.type not in TYPES for question in deck.questions):  # such as the survey
            continue
        _, lost = there_and_back(deck, tmp_path / "deck.gift")
        left_out = {question for question, parts in lost.items() if "question" in parts}
        assert {question.id for question in deck.questions if question.type not in TYPES} <= left_out
