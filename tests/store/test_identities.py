"""Identities and settings."""

from __future__ import annotations

import hashlib

import pytest
from sqlalchemy.exc import IntegrityError

from workshop.store.store import Store


def test_identities_are_found_by_the_hash_of_their_token(store: Store) -> None:
    hashed = hashlib.sha256(b"secret").hexdigest()
    ada = store.add_identity("learner", "Ada 🎓", hashed)
    assert (ada.role, ada.nickname) == ("learner", "Ada 🎓")
    assert store.identity(hashed) == ada
    assert store.identity("secret") is None and store.identity(hashlib.sha256(b"Secret").hexdigest()) is None
    assert store.add_identity("instructor", "Ada 🎓", "1" * 64).id != ada.id
    with pytest.raises(IntegrityError):
        store.add_identity("instructor", "eve", hashed)
    assert store.identity(hashed) == ada


def test_settings(store: Store) -> None:
    assert store.setting("class_code") is None
    store.set_setting("class_code", "a1")
    store.set_setting("class_code", "b2")
    store.set_setting("other", "")
    assert store.setting("class_code") == "b2" and store.setting("other") == ""


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
