"""Codes, tokens, and whom they let in."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workshop.store.identities import LONGEST_NICKNAME
from workshop.store.store import Store
from workshop.web import auth
from workshop.web.code_form import local


@pytest.fixture
def store(workshop_home: Path):
    with Store.open() as opened:
        yield opened


def test_the_store_never_sees_the_token(store: Store, workshop_home: Path) -> None:
    token, code = auth.new_secrets(store)
    assert auth.is_instructor_token(store, token)
    assert auth.is_class_code(store, code)
    store.close()
    written = b"".join(path.read_bytes() for path in workshop_home.rglob("*") if path.is_file())
    assert token.encode() not in written
    assert auth.hashed(token).encode() in written


def test_new_secrets_end_the_old_ones(store: Store) -> None:
    old, old_code = auth.new_secrets(store)
    auth.new_secrets(store)
    assert not auth.is_instructor_token(store, old)
    assert not auth.is_class_code(store, old_code)


def test_new_secrets_end_the_cookies_of_the_old_ones(store: Store) -> None:
    known = {role: auth.let_in(store, role, role) for role in ("instructor", "learner", "player")}
    auth.new_secrets(store)
    still = [role for role, (_, secret) in known.items() if store.identity(auth.hashed(secret)) is not None]
    assert still == ["player"], "who came in by a quiz's code, which is no other one"
    auth.log_everybody_out(store)
    assert store.identity(auth.hashed(known["player"][1])) is None


def test_who_comes_again_stays_who_they_were(store: Store) -> None:
    ada, secret = auth.let_in(store, "learner", "Ada")
    auth.new_secrets(store)
    again, new = auth.let_in(store, "learner", "Ada", secret)
    assert again == ada and new != secret
    assert auth.let_in(store, "learner", "Ada", secret)[0].nickname == "Ada 2", "what it was worth is used up"
    assert auth.let_in(store, "learner", "Ada", "guess")[0].nickname == "Ada 3"


def test_without_secrets_nobody_is_let_in(store: Store) -> None:
    assert not auth.is_instructor_token(store, "")
    assert not auth.is_class_code(store, "")


def test_equal_nicknames_get_numbers(store: Store) -> None:
    names = [auth.let_in(store, "learner", "Ada")[0].nickname for _ in range(3)]
    assert names == ["Ada", "Ada 2", "Ada 3"]
    long = [auth.let_in(store, "learner", "x" * 30)[0].nickname for _ in range(2)]
    assert len(set(long)) == 2
    assert max(map(len, long)) <= LONGEST_NICKNAME


@given(st.one_of(st.text(), st.text("/\\.:@[]ht p", max_size=12).map(lambda text: "/" + text)))
def test_the_way_on_never_leads_elsewhere(wanted: str) -> None:
    way = local(wanted)
    assert way.startswith("/")
    assert not way.startswith(("//", "/\\"))
    assert way.isprintable()


@pytest.mark.parametrize("wanted", ["//[", "//]", "/\\[", "http://[", "//\u2100"])
def test_a_way_on_that_is_no_address_is_the_first_page(wanted: str) -> None:
    assert local(wanted) == "/"
