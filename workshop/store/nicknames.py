"""Nicknames in their visible form."""

from __future__ import annotations

import unicodedata

from workshop.core.errors import BadInput
from workshop.store.identities import LONGEST_NICKNAME
from workshop.store.tables import INSTRUCTOR

JOINERS = "\u200c\u200d"  # format characters that belong into words and emoji; others could turn the line around


def checked_nickname(text: str) -> str:
    """A nickname as it will be shown. Raises BadInput with one sentence."""
    name = " ".join(unicodedata.normalize("NFC", text).split())
    if not name.strip(JOINERS):
        raise BadInput("Please give a nickname, so that others can tell your runs from theirs.")
    if len(name) > LONGEST_NICKNAME:
        raise BadInput(f"The nickname has {len(name)} characters; at most {LONGEST_NICKNAME} fit.")
    if any(unicodedata.category(character).startswith("C") for character in name if character not in JOINERS):
        raise BadInput("The nickname holds characters that can't be shown; letters, digits and spaces can.")
    if name.casefold() == INSTRUCTOR.casefold():
        raise BadInput("The nickname Instructor is the instructor's; please take another one.")
    return name
