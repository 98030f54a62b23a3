"""Ending a round from a page: by the room that people are in, or in the store where nobody has opened one."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from tests.quiz.nine import DECK
from tests.support import limit
from tests.web.dashboard import Visitor
from tests.web.serving import served
from workshop.core.errors import BadInput
from workshop.store.records import Identity
from workshop.store.store import Store
from workshop.web import auth
from workshop.web.auth_middleware import cookie_name
from workshop.web.quiz import rounds
from workshop.web.quiz.routes import routes


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
