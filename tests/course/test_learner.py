"""Whose notebook this is, by the name that an account has: without a kernel or a session."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import workshop
from workshop.core.errors import BadInput
from workshop.course import learner
from workshop.store.identities import LONGEST_NICKNAME, checked_nickname
from workshop.store.store import Store
from workshop.web import auth

LONG = "anna-sophie.von-und-zu-hohenberg"  # longer than a nickname, as accounts may be


@pytest.fixture
def account(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    monkeypatch.delenv("WORKSHOP_LEARNER", raising=False)
    return monkeypatch


def test_long_names_that_begin_alike_are_two_learners(account: pytest.MonkeyPatch, store: Store) -> None:
    found = []
    for name in (f"{LONG}-1", f"{LONG}-2", f"{LONG}-1"):
        account.setenv("JUPYTERHUB_USER", name)
        whose = learner.identity(store)
        assert whose is not None and whose.nickname == learner.name() == learner.nickname(name)
        assert whose.nickname.startswith("anna-sophie.von-und-")
        found.append(whose)
    assert found[0] == found[2] != found[1]
    assert found[0].nickname != found[1].nickname


@given(st.text(min_size=1))
def test_any_accounts_name_fits_or_is_refused(text: str) -> None:
    name = learner.nickname(text)
    assert len(name) <= LONGEST_NICKNAME
    assert learner.nickname(name) == name
    try:
        assert checked_nickname(name) == name
    except BadInput as error:
        assert "\n" not in str(error)


@pytest.mark.parametrize(
    ("name", "why"),
    [("a\u202eb", "can't be shown"), ("\udcff", "can't be shown"), ("Instructor", "is the instructor's")],
)
def test_a_name_that_can_t_be_a_nickname_is_refused_before_anything_starts(
    account: pytest.MonkeyPatch, store: Store, name: str, why: str
) -> None:
    account.setenv("JUPYTERHUB_USER", name)
    for way in (workshop.attach, lambda: workshop.lab("first"), lambda: learner.identity(store)):
        with pytest.raises(BadInput, match=why):
            way()
    assert store.sessions() == [] and store.progress() == []


def test_the_door_and_the_hub_are_two_ways_to_be_somebody(account: pytest.MonkeyPatch, store: Store) -> None:
    from_door, secret = auth.let_in(store, "learner", "grace")
    account.setenv("JUPYTERHUB_USER", "grace")
    whose = learner.identity(store)
    assert whose is not None and whose.id != from_door.id and whose.nickname == "grace 2"
    assert store.identity(auth.hashed(secret)) == from_door
    assert learner.name() == "grace", "progress is the account's"
    account.setenv("JUPYTERHUB_USER", "ada")
    ada = learner.identity(store)
    later, _ = auth.let_in(store, "learner", "ada")
    assert ada is not None and (ada.nickname, later.nickname) == ("ada", "ada 2")
    assert learner.identity(store) == ada
