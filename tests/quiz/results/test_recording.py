"""Rounds of recordings: those that a class has played are taken, those with answers of other types are refused."""

from __future__ import annotations

from typing import Any

import pytest

from tests.quiz.nine import DECK, IDS, right
from workshop.core.errors import BadInput
from workshop.quiz import randomisation
from workshop.quiz.live.state import RoundState
from workshop.quiz.results.reader import check_recording
from workshop.server.quiz import round_start
from workshop.store.records import QuizAnswer
from workshop.store.store import Store

STRANGE: tuple[Any, ...] = (None, "a", -1, 99, 1.5, True, [], ["a"], [0, 0], [99], {}, {"a": 1}, {"map_by": []}, [[0]])


def played(store: Store, answers: dict[str, Any], **state: Any) -> None:
    record = round_start.host(store, DECK)
    kept = RoundState(phase="podium", position=len(IDS) - 1, done=IDS).as_json() | state
    store.set_round_state(record.id, kept)
    player = store.add_player(record.id, None, "Ada")
    store.keep_answers(
        [QuizAnswer(record.id, id, player.id, "Ada", answer, 1.0, 1.0) for id, answer in answers.items()]
    )


@pytest.mark.parametrize("wrong", [False, True])
def test_what_was_played_is_taken(store: Store, wrong: bool) -> None:
    answers = {}
    for question in DECK.questions:
        this = randomisation.ask(DECK, question, "seed")
        answers[question.id] = question.read(this, right(question.view(this, lambda _: ""), wrong))
    played(store, answers)
    check_recording(store, "class")


@pytest.mark.parametrize("question", IDS)
def test_answers_of_other_types_are_refused(store: Store, question: str) -> None:
    could_be = {"called": ["a"], "belongs": [[0, 0]], "how-long": [1.5], "how-many": [1.5]}.get(question, [])
    strange = [one for one in STRANGE if one not in could_be]
    this = randomisation.ask(DECK, DECK.question(question), "seed")
    assert [one for one in strange if this.question.accepts(this, one)] == []
    played(store, {question: strange[-1]})
    with pytest.raises(BadInput, match=f"an answer to {question} is none that this question can have"):
        check_recording(store, "class")


@pytest.mark.parametrize("state", [{"position": "a"}, {"truths": {"how-long": 3}}, {"done": 5}])
def test_states_of_other_types_are_refused(store: Store, state: dict[str, Any]) -> None:
    played(store, {"how-long": 3.0}, **state)
    with pytest.raises(BadInput, match="its results can't be computed"):
        check_recording(store, "class")
