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


def test_nicknames_that_are_taken(store: Store) -> None:
    assert not store.nickname_taken("ada")
    store.add_identity("learner", "ada", "2" * 64)
    assert store.nickname_taken("ada") and not store.nickname_taken("bob")
