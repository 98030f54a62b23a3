"""Whose notebook this is: a learner's of a class, or the machine owner's."""

from __future__ import annotations

import getpass
import os
import unicodedata
from hashlib import sha256

from workshop.store.identities import LONGEST_NICKNAME, checked_nickname
from workshop.store.records import Identity
from workshop.store.store import Store
from workshop.store.tables import INSTRUCTOR

VARIABLES = ("WORKSHOP_LEARNER", "JUPYTERHUB_USER")  # the first one that is set names a learner
DIGEST = 8  # hexadecimal digits that tell long names apart


def name() -> str:
    """The learner's nickname where this notebook is a learner's, else the user of this machine; root, whose login name
    is nobody's, is the instructor. Raises BadInput for a learner's name that can't be one."""
    account = _account()
    return _user() if account is None else checked_nickname(nickname(account))


def is_learner() -> bool:
    """Whether the instructor's limits hold for runs from here."""
    return _account() is not None


def identity(store: Store) -> Identity | None:
    """The learner who submits runs from here; a new name is let in. None for the machine's owner. Raises BadInput for a
    name that can't be a nickname.

    This learner and a learner who came in through the dashboard are different people, also with the same name.
    """
    return store.learner(name()) if is_learner() else None


def browser_name(store: Store, visitor: Identity) -> str:
    """The name under which a visitor of the dashboard does labs in the browser: the nickname. Where a notebook has that
    name, its learner is another person, and the visitor's progress gets a name of its own."""
    notebooks = store.of_notebooks([visitor.nickname]).keys() - {visitor.id}
    return f"{visitor.nickname} (browser)" if notebooks else visitor.nickname


def nickname(account: str) -> str:
    """The nickname for an account: its name. A long name is cut and gets a digest of the whole name, so that two long
    names stay different."""
    full_name = _one_line(account)
    if len(full_name) <= LONGEST_NICKNAME:
        return full_name
    digest = sha256(full_name.encode("utf-8", "surrogatepass")).hexdigest()[:DIGEST]
    return f"{full_name[: LONGEST_NICKNAME - DIGEST - 1]}~{digest}"


def _account() -> str | None:
    return next(filter(None, (_one_line(os.environ.get(variable, "")) for variable in VARIABLES)), None)


def _user() -> str:
    try:
        user = getpass.getuser()
        return INSTRUCTOR if user == "root" else nickname(user)
    except (KeyError, OSError):  # a user without a name, as in some containers
        return "notebook"


def _one_line(text: str) -> str:
    return " ".join(unicodedata.normalize("NFC", text).split())
