"""Who came in through the dashboard's door, and small settings."""

from __future__ import annotations

import time

from sqlalchemy import select

from workshop.store.database import Database
from workshop.store.records import Identity, Role
from workshop.store.tables import identities, settings


class Identities:
    """Identities are looked up by the hash of their token: how long a look-up takes tells nothing of the token."""

    database: Database

    def add_identity(self, role: Role, nickname: str, token_hash: str) -> Identity:
        """Let somebody in; `token_hash` is the SHA-256 of the secret that their cookie holds."""
        values = {"role": role, "nickname": nickname, "token_hash": token_hash, "created_at": time.time()}
        with self.database.writing() as connection:
            connection.execute(identities.insert().values(**values))
        found = self.identity(token_hash)
        assert found is not None, "just written"
        return found

    def identity(self, token_hash: str) -> Identity | None:
        """Whose token has this hash; None: nobody's."""
        columns = (identities.c.id, identities.c.role, identities.c.nickname, identities.c.created_at)
        with self.database.reading() as connection:
            row = connection.execute(select(*columns).where(identities.c.token_hash == token_hash)).first()
        return Identity(*row) if row is not None else None

    def nickname_taken(self, nickname: str) -> bool:
        """Whether somebody has this nickname."""
        there = select(identities.c.id).where(identities.c.nickname == nickname).limit(1)
        with self.database.reading() as connection:
            return connection.scalar(there) is not None

    def setting(self, key: str) -> str | None:
        """A small setting; None where it was never set."""
        with self.database.reading() as connection:
            return connection.scalar(select(settings.c.value).where(settings.c.key == key))

    def set_setting(self, key: str, value: str) -> None:
        with self.database.writing() as connection:
            if connection.execute(settings.update().where(settings.c.key == key).values(value=value)).rowcount == 0:
                connection.execute(settings.insert().values(key=key, value=value))
