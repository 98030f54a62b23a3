"""Measuring ends in a state from which a round's host can go on, whatever becomes of the evaluation."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.web import seed
from workshop.quiz import truth
from workshop.quiz.deck import Deck
from workshop.quiz.live.state import RoundState
from workshop.quiz.types.predict import Predict
from workshop.store.records import QuizAnswer
from workshop.store.store import Store
from workshop.web.quiz import rounds
from workshop.web.quiz.room import Room
from workshop.web.quiz.rounds import AnswerWriter


def deck(expression: str) -> Deck:
    run = {"workload": "kmeans", "params": {}, "placement": {"ranks": 2}}
    question = {"id": "q", "type": "predict", "text": "?", "truth": expression, "runs": {"a": run}}
    return Deck.model_validate({"deck": "d", "title": "t", "questions": [question]})


def measured(store: Store, expression: str) -> RoundState:
    """The state of a round after its question was measured, by a run that has ended."""
    session = seed.session(store)
    run = store.submit(session.id, "kmeans", seed.PARAMS, seed.PLACEMENT)
    store.take_next(session.id)
    store.finish(run.id, "completed", metrics={"iterations": 3, "waits": [1.0, 2.0]})
    record = rounds.host(store, deck(expression))
    state = RoundState(version=3, phase="measuring", position=0, opened_at=1.0, ends_at=2.0, runs={"a": run.id})
    store.set_round_state(record.id, state.as_json())
    player = store.add_player(record.id, None, "Ada")
    store.keep_answers([QuizAnswer(record.id, "q", player.id, "Ada", 1.0, 1.5, 0.5)])

    async def wait() -> RoundState:
        room = await Room.open(store, AnswerWriter(store), record.id)
        try:
            async with asyncio.timeout(60):
                while room.state.phase == "measuring" and not room.state.problem:
                    await asyncio.sleep(0.02)
            return room.state
        finally:
            room.close()

    return asyncio.run(wait())


def test_what_can_be_evaluated_is_explained(store: Store) -> None:
    state = measured(store, "argmax(a.waits)")
    assert (state.phase, state.truths["q"]["value"]) == ("explained", 1.0)


@pytest.mark.parametrize("expression", ["argmax(a)", "max(a)", "a.nonsense", "a", "mean(a.waits[0])"])
def test_what_can_not_be_evaluated_is_a_problem_of_the_round(store: Store, expression: str) -> None:
    state = measured(store, expression)
    assert state.phase == "measuring" and state.problem.startswith("The runs don't tell the answer: ")


@pytest.mark.parametrize(("module", "function"), [(truth, "value"), (Predict, "grade")])
def test_a_fault_of_ours_is_a_problem_of_the_round(
    store: Store, monkeypatch: pytest.MonkeyPatch, module: Any, function: str
) -> None:
    def fault(*_: Any) -> None:
        raise KeyError(0)

    monkeypatch.setattr(module, function, fault)
    state = measured(store, "a.iterations")
    assert state.phase == "measuring" and "a fault in the server" in state.problem
