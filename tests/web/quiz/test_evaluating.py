"""Measuring ends in a state from which a round's host can go on, whatever becomes of the evaluation.

Ending a round from a page: by the room that people are in, or in the store where nobody has opened one.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.quiz.nine import DECK
from tests.support import limit
from tests.web import seed
from tests.web.dashboard import Visitor
from tests.web.serving import served
from workshop.core.errors import BadInput
from workshop.quiz import truth
from workshop.quiz.deck import Deck
from workshop.quiz.live import RoundState
from workshop.quiz.types.number import Predict
from workshop.store.records import Identity, QuizAnswer
from workshop.store.store import Store
from workshop.web import auth
from workshop.web.auth_middleware import cookie_name
from workshop.web.quiz import rounds
from workshop.web.quiz.room import Room
from workshop.web.quiz.rounds import AnswerWriter
from workshop.web.quiz.routes import routes


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


@pytest.fixture
def instructor(store: Store) -> Identity:
    return auth.let_in(store, "instructor", "Instructor")[0]


@pytest.fixture
def port(store: Store) -> Iterator[int]:
    with served(store, lambda port: routes(store, cookie_name(port))) as port:
        yield port


def test_who_is_in_a_round_is_told_its_end(store: Store, port: int, instructor: Identity) -> None:
    this = rounds.host(store, DECK)
    host = Visitor(port, f"{cookie_name(port)}={auth.let_in(store, 'instructor', 'Instructor')[1]}")
    with host.listen(f"/quiz/{this.id}/socket?view=host") as line:
        assert json.loads(line.recv(timeout=limit(20)))["phase"] == "lobby"
        rounds.end_round(store, instructor, this.id)
        kinds: list[str] = []
        while "ended" not in kinds:
            kinds.append(json.loads(line.recv(timeout=limit(20)))["kind"])
    assert store.round(this.id).ended_at is not None
    with pytest.raises(BadInput, match="has ended already"):
        rounds.end_round(store, instructor, this.id)


def test_a_round_that_nobody_is_in_is_ended_in_the_store(store: Store, instructor: Identity) -> None:
    this = rounds.host(store, DECK)
    with pytest.raises(BadInput, match="Only the instructor"):
        rounds.end_round(store, auth.let_in(store, "learner", "Ada")[0], this.id)
    rounds.end_round(store, instructor, this.id)
    ended = store.round(this.id)
    assert (ended.ended_at is not None, ended.state["phase"]) == (True, "ended")
    with pytest.raises(BadInput, match="has ended already"):
        rounds.end_round(store, instructor, this.id)
    alone = store.add_round("alone", DECK.model_dump(mode="json"))
    with pytest.raises(BadInput, match="not a live one"):
        rounds.end_round(store, instructor, alone.id)
