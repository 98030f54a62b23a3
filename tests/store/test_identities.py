"""Identities and settings."""

from __future__ import annotations

import time

from workshop.store import tables
from workshop.store.identities import LONGEST_NICKNAME, STAY
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
    names = [store.add_identity("learner", "ada", str(n) * 9, numbered=True).nickname for n in range(12)]
    assert names == ["ada", *(f"ada {number}" for number in range(2, 13))]
    long = "x" * LONGEST_NICKNAME
    assert store.add_identity("learner", long, "a" * 64, numbered=True).nickname == long
    assert store.add_identity("learner", long, "b" * 64, numbered=True).nickname == f"{long[:25]} 2"


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


def test_an_account_has_its_notebooks_and_any_number_of_cookies(store: Store) -> None:
    """They are one person; a log-out ends the cookies, and the notebooks stay theirs."""
    ada = store.learner("ada")
    assert store.let_in_account("ada", "1" * 64) == ada == store.let_in_account("ada", "2" * 64)
    assert store.let_in_account("grace", "3" * 64) == store.learner("grace") != ada
    tokens = {digit * 64 for digit in "1234"}
    assert store.identity("1" * 64) == store.identity("2" * 64) == ada
    assert store.valid_tokens(tokens) == {"1" * 64, "2" * 64, "3" * 64}
    store.log_out(ada.id)
    assert store.valid_tokens(tokens) == {"3" * 64} and store.identity("1" * 64) is None
    assert store.let_in_account("ada", "4" * 64) == ada == store.learner("ada")
    assert store.valid_tokens(tokens) == {"3" * 64, "4" * 64}, "old cookies stay ended"
    store.log_out_all(["player"])
    assert store.valid_tokens(tokens) == {"3" * 64, "4" * 64}
    store.log_out_all(["learner"])
    assert store.valid_tokens(tokens) == set() and store.identity("4" * 64) is None
    assert store.learner("ada") == ada
    with store.database.writing() as connection:
        connection.execute(tables.identities.update().values(let_in_at=time.time() - STAY - 1))
    assert store.let_in_account("ada", "5" * 64) == ada == store.identity("5" * 64)
