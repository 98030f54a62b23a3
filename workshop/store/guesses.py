"""Guesses in the store: what people predict before they see, each person's latest about each thing."""

from __future__ import annotations

import time
from typing import Any

from sqlalchemy import Select, func, select

from workshop.store.database import Database
from workshop.store.records import Guess
from workshop.store.tables import guesses, identities


class Guesses:
    """Guesses by subject and person; the command line's have no person (identity None)."""

    database: Database

    def keep_guess(self, identity_id: int | None, about: str, value: Any) -> Guess:
        """Store a guess in place of an earlier one."""
        with self.database.writing() as connection:
            connection.execute(guesses.delete().where(guesses.c.about == about, _whose(identity_id)))
            connection.execute(
                guesses.insert().values(about=about, identity_id=identity_id, value=value, created_at=time.time())
            )
        guess = self.guess(identity_id, about)
        assert guess is not None, "just written"
        return guess

    def guess(self, identity_id: int | None, about: str) -> Guess | None:
        """A person's guess; None without one."""
        query = _select().where(guesses.c.about == about, _whose(identity_id))
        with self.database.reading() as connection:
            row = connection.execute(query).first()
        return Guess(**row._mapping) if row is not None else None

    def guesses(self, about: str) -> list[Guess]:
        """Everybody's guesses about a subject, in the order in which they came."""
        query = _select().where(guesses.c.about == about).order_by(guesses.c.id)
        with self.database.reading() as connection:
            return [Guess(**row._mapping) for row in connection.execute(query)]


def _whose(identity_id: int | None) -> Any:
    return guesses.c.identity_id.is_(None) if identity_id is None else guesses.c.identity_id == identity_id


def _select() -> Select[Any]:
    nickname = func.coalesce(identities.c.nickname, "").label("nickname")
    columns = (guesses.c.about, guesses.c.identity_id, nickname, guesses.c.value, guesses.c.created_at)
    return select(*columns).select_from(guesses.outerjoin(identities, guesses.c.identity_id == identities.c.id))
