"""Identities and settings."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable
from typing import Any

from sqlalchemy import Engine, event

from workshop.store import tables
from workshop.store.identities import COUNTED, LONGEST_NICKNAME, STAY
from workshop.store.store import Store


def test_a_nickname_that_is_taken_gets_a_number(store: Store) -> None:
    first, second, other = (
        store.add_identity("learner", name, str(number) * 64, numbered=True)
        for number, name in enumerate(("ada", "ada", "bob"), 2)
    )
    assert [first.nickname, second.nickname, other.nickname] == ["ada", "ada 2", "bob"]
    assert store.identity("3" * 64) == second


def test_a_notebooks_learner_is_nobody_from_the_door(store: Store) -> None:
    """The same nickname is two people, whoever came first, and each keeps what is theirs."""
    from_notebook = store.learner("grace")
    from_door = store.add_identity("learner", "grace", "5" * 64, numbered=True)
    assert (from_notebook.nickname, from_door.nickname) == ("grace", "grace 2")
    assert store.learner("grace") == from_notebook != from_door
    ada = store.add_identity("learner", "ada", "6" * 64, numbered=True)
    other = store.learner("ada")
    assert (other.role, other.nickname) == ("learner", "ada 2")
    assert store.learner("ada") == other and store.learner("ada 2").nickname == "ada 2 2"
    assert store.identity("6" * 64) == ada
    # Who only took part in a quiz submits nothing, and keeps nobody from their name.
    store.add_identity("player", "eve", "7" * 64)
    assert store.learner("eve").nickname == "eve"


def test_a_nickname_that_many_have_keeps_nobody_out(store: Store) -> None:
    """What one join costs must not grow with those who came before."""
    statements: list[str] = []

    def note(_connection: Any, _cursor: Any, statement: str, *_more: Any) -> None:
        statements.append(statement)

    def take(nickname: str, numbers: Iterable[int]) -> None:
        names = [nickname, *(f"{nickname[:25]} {number}" for number in numbers)]
        with store.database.writing() as connection:
            rows = [{"role": "learner", "nickname": name, "token_hash": name, "created_at": 0.0} for name in names]
            connection.execute(tables.identities.insert(), rows)

    take("ada", range(2, COUNTED))
    event.listen(Engine, "before_cursor_execute", note)
    try:
        last = store.add_identity("learner", "ada", "b" * 64, numbered=True)
    finally:
        event.remove(Engine, "before_cursor_execute", note)
    assert last.nickname == f"ada {COUNTED}"
    assert len([one for one in statements if "FROM identities" in one]) <= 2, "names in use, and the row just made"
    others = [store.add_identity("learner", "ada", str(n) * 64, numbered=True).nickname for n in range(3)]
    others.append(store.learner("ada").nickname)
    assert len(set(others)) == 4 and all(re.fullmatch(r"ada \d{3,4}", name) for name in others)
    long = "x" * LONGEST_NICKNAME
    take(long, range(2, 10_000))
    found = store.add_identity("learner", long, "d" * 64, numbered=True).nickname
    assert re.fullmatch(r"x{24} \d{5}", found) and len(found) == LONGEST_NICKNAME


def test_who_is_logged_out_is_nobody_until_they_are_let_in_again(store: Store) -> None:
    ada = store.add_identity("learner", "ada", "1" * 64)
    eve = store.add_identity("player", "eve", "2" * 64)
    before = store.changes()
    store.add_ticket("9" * 64, time.time() + 60)
    store.log_out_all(["learner"])
    assert not store.take_ticket("9" * 64)
    assert store.changes() != before
    assert store.identity("1" * 64) is None and store.identity("2" * 64) == eve
    assert store.former_identity("1" * 64) == ada
    # By the former token, under the same name, in the same role.
    for role, nickname in (("player", "ada"), ("learner", "eve"), ("instructor", "ada")):
        assert store.let_in_again("1" * 64, "3" * 64, role, nickname) is None
    assert store.let_in_again("1" * 64, "3" * 64, "learner", "ada") == ada == store.identity("3" * 64)
    assert store.identity("1" * 64) is None and store.former_identity("1" * 64) is None
    # Who logs out leaves nothing that is worth anything.
    before = store.changes()
    store.log_out(ada.id)
    assert store.changes() != before
    assert store.identity("3" * 64) is None and store.former_identity("3" * 64) is None
    assert store.let_in_again("3" * 64, "4" * 64, "learner", "ada") is None


def test_a_cookie_ends_at_the_server_too(store: Store) -> None:
    ada = store.add_identity("learner", "ada", "1" * 64)
    assert store.identity("1" * 64) == ada
    with store.database.writing() as connection:
        connection.execute(tables.identities.update().values(let_in_at=time.time() - STAY - 1))
    assert store.identity("1" * 64) is None and store.former_identity("1" * 64) == ada
