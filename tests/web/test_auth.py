"""Codes, tokens, nicknames, and guessing."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workshop.errors import BadInput
from workshop.store.store import Store
from workshop.web import auth
from workshop.web.join import local


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


def test_without_secrets_nobody_is_let_in(store: Store) -> None:
    assert not auth.is_instructor_token(store, "")
    assert not auth.is_class_code(store, "")


def test_equal_nicknames_get_numbers(store: Store) -> None:
    names = [auth.let_in(store, "learner", "Ada")[0].nickname for _ in range(3)]
    assert names == ["Ada", "Ada 2", "Ada 3"]
    long = [auth.let_in(store, "learner", "x" * 30)[0].nickname for _ in range(2)]
    assert len(set(long)) == 2
    assert max(map(len, long)) <= auth.LONGEST_NICKNAME


@given(st.text())
def test_nicknames_are_one_clean_line_or_refused(text: str) -> None:
    try:
        name = auth.checked_nickname(text)
    except BadInput as error:
        assert str(error).endswith(".")
    else:
        assert 1 <= len(name) <= auth.LONGEST_NICKNAME
        assert name.isprintable()
        assert auth.checked_nickname(name) == name


@given(st.one_of(st.text(), st.text("/\\.:@[]ht p", max_size=12).map(lambda text: "/" + text)))
def test_the_way_on_never_leads_elsewhere(wanted: str) -> None:
    way = local(wanted)
    assert way.startswith("/")
    assert not way.startswith(("//", "/\\"))
    assert way.isprintable()


@pytest.mark.parametrize("wanted", ["//[", "//]", "/\\[", "http://[", "//\u2100"])
def test_a_way_on_that_is_no_address_is_the_first_page(wanted: str) -> None:
    assert local(wanted) == "/"


@pytest.mark.parametrize("name", ["Instructor", "instructor", "  INSTRUCTOR\t"])
def test_nobody_is_called_like_the_instructor(name: str) -> None:
    with pytest.raises(BadInput, match=r"is the instructor's; .*\.$"):
        auth.checked_nickname(name)
    assert auth.checked_nickname("Instructor's cat") == "Instructor's cat"


def test_wrong_guesses_are_forgotten_after_a_while() -> None:
    attempts = auth.Attempts(most=2, seconds=1.0)
    attempts.wrong("here")
    assert attempts.wait("here") == 0
    attempts.wrong("here")
    assert 0 < attempts.wait("here") <= 1.0
    assert attempts.wait("elsewhere") == 0
    time.sleep(1.05)
    assert attempts.wait("here") == 0
