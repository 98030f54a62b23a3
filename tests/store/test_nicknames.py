"""Nicknames as they are shown, and those that nobody may have."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workshop.core.errors import BadInput
from workshop.store.identities import LONGEST_NICKNAME, checked_nickname


@given(st.text())
def test_nicknames_are_one_clean_line_or_refused(text: str) -> None:
    try:
        name = checked_nickname(text)
    except BadInput as error:
        assert str(error).endswith(".")
    else:
        assert 1 <= len(name) <= LONGEST_NICKNAME
        assert name.replace("\u200c", "").replace("\u200d", "").isprintable()
        assert checked_nickname(name) == name


@pytest.mark.parametrize("name", ["Instructor", "instructor", "  INSTRUCTOR\t"])
def test_nobody_is_called_like_the_instructor(name: str) -> None:
    with pytest.raises(BadInput, match=r"is the instructor's; .*\.$"):
        checked_nickname(name)


@pytest.mark.parametrize("name", ["In\u00adstructor", "a\u202eb", "a\0b", "\ufeff"])
def test_nothing_in_a_nickname_is_invisible(name: str) -> None:
    with pytest.raises(BadInput, match="can't be shown"):
        checked_nickname(name)


NAMES = ["Instructor's cat", "Zoë", "می\u200cخواهم", "👩\u200d💻 Ada", "1\ufe0f\u20e3", "葛\U000e0100城"]


@pytest.mark.parametrize("name", NAMES)
def test_other_names_are_taken_as_they_are(name: str) -> None:
    assert checked_nickname(name) == name
