"""Whose notebook this is: a learner's of a class, or that of whoever owns this machine."""

from __future__ import annotations

import getpass
import os
import unicodedata
from hashlib import sha256

from workshop.store.identities import LONGEST_NICKNAME
from workshop.store.nicknames import checked_nickname
from workshop.store.records import Identity
from workshop.store.store import Store

VARIABLES = ("WORKSHOP_LEARNER", "JUPYTERHUB_USER")  # the first one that is set names a learner
DIGEST = 8  # hexadecimal digits that tell long names apart


def name() -> str:
    """The learner's nickname where this notebook is a learner's, else the user of this machine. Raises BadInput for a
    learner's name that can't be one."""
    given = _given()
    return _user() if given is None else checked_nickname(nickname(given))


def is_learner() -> bool:
    """Whether the instructor's limits hold for what is run from here."""
    return _given() is not None


def identity(store: Store) -> Identity | None:
    """Who submits runs from here: the learner of that name, who is let in where there is none yet; None where this is
    nobody's notebook but the owner's. Raises BadInput for a name that can't be a nickname.

    Nobody comes in through the dashboard's door as a learner who was let in here, nor the other way round.
    """
    return store.learner(name()) if is_learner() else None


def nickname(account: str) -> str:
    """The nickname of whoever has this account: its name, of a longer one the beginning and a digest of all of it, so
    that long names that begin alike are two people."""
    whole = _one_line(account)
    if len(whole) <= LONGEST_NICKNAME:
        return whole
    digest = sha256(whole.encode("utf-8", "surrogatepass")).hexdigest()[:DIGEST]
    return f"{whole[: LONGEST_NICKNAME - DIGEST - 1]}~{digest}"


def _given() -> str | None:
    return next(filter(None, (_one_line(os.environ.get(variable, "")) for variable in VARIABLES)), None)


def _user() -> str:
    try:
        return nickname(getpass.getuser())
    except (KeyError, OSError):  # a user without a name, as in some containers
        return "notebook"


def _one_line(text: str) -> str:
    return " ".join(unicodedata.normalize("NFC", text).split())
