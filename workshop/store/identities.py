"""Who came in through the dashboard's door, and small settings."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from hashlib import sha256

from sqlalchemy import Connection, select

from workshop.store.database import Database
from workshop.store.records import Identity, Role
from workshop.store.tables import identities, settings

LONGEST_NICKNAME = 30
_ANYBODY: tuple[Role, ...] = ("instructor", "learner", "player")
_NOTEBOOK = "notebook:"  # no hash of a cookie begins so: nobody comes in by it


class Identities:
    """Identities are looked up by the hash of their token: how long a look-up takes tells nothing of the token."""

    database: Database

    def add_identity(self, role: Role, nickname: str, token_hash: str, numbered: bool = False) -> Identity:
        """Let somebody in; `token_hash` is the SHA-256 of the secret that their cookie holds. `numbered`: a nickname
        that somebody has already gets a number."""
        with self.database.writing() as connection:
            name = _free(connection, nickname, _ANYBODY) if numbered else nickname
            return _added(connection, role, name, token_hash)

    def identity(self, token_hash: str) -> Identity | None:
        """Whose token has this hash; None: nobody's."""
        with self.database.reading() as connection:
            return _known(connection, token_hash)

    def learner(self, name: str) -> Identity:
        """The learner whose notebooks have this name, let in where there is none yet.

        Nobody else is this learner: not whoever has this nickname from the dashboard's door, whose limits and runs stay
        their own. Where a learner has it already, the new one gets a number.
        """
        known_by = _notebook(name)
        with self.database.writing() as connection:
            there = _known(connection, known_by)
            return there or _added(connection, "learner", _free(connection, name, ("learner",)), known_by)

    def of_notebooks(self, names: Iterable[str]) -> dict[int, str]:
        """The ids of those of these learners who were let in by their notebooks, with their names there."""
        known = {_notebook(name): name for name in names}
        these = identities.c.token_hash.startswith(_NOTEBOOK, autoescape=True)
        with self.database.reading() as connection:
            found = connection.execute(select(identities.c.id, identities.c.token_hash).where(these)).all()
        return {row.id: known[row.token_hash] for row in found if row.token_hash in known}

    def add_ticket(self, ticket_hash: str, until: float) -> None:
        """Keep the hash of a ticket that is worth something until then; those whose time is over are forgotten."""
        with self.database.writing() as connection:
            mine = settings.c.key.startswith(_TICKET, autoescape=True)
            connection.execute(settings.delete().where(mine, settings.c.value < _moment(time.time())))
            connection.execute(settings.insert().values(key=_TICKET + ticket_hash, value=_moment(until)))

    def take_ticket(self, ticket_hash: str) -> bool:
        """Use a ticket up. Whether it was worth something: one is taken once."""
        now = settings.c.value >= _moment(time.time())
        with self.database.writing() as connection:
            taken = connection.execute(settings.delete().where(settings.c.key == _TICKET + ticket_hash, now))
        return taken.rowcount == 1

    def setting(self, key: str) -> str | None:
        """A small setting; None where it was never set."""
        with self.database.reading() as connection:
            return connection.scalar(select(settings.c.value).where(settings.c.key == key))

    def set_setting(self, key: str, value: str) -> None:
        with self.database.writing() as connection:
            if connection.execute(settings.update().where(settings.c.key == key).values(value=value)).rowcount == 0:
                connection.execute(settings.insert().values(key=key, value=value))


_TICKET = "ticket:"  # keys of the settings


def numbered(nickname: str, taken: Callable[[str], bool]) -> str:
    """The nickname, with a number where it is taken."""
    name, number = nickname, 1
    while taken(name):
        number += 1
        name = f"{nickname[: LONGEST_NICKNAME - 5]} {number}"
    return name


def _notebook(name: str) -> str:
    """What stands for the cookie of a notebook's learner."""
    return _NOTEBOOK + sha256(name.encode("utf-8", "surrogatepass")).hexdigest()


def _free(connection: Connection, nickname: str, roles: Sequence[Role]) -> str:
    """The nickname, with a number where somebody in one of these roles has it."""
    there = select(identities.c.id).where(identities.c.role.in_(roles)).limit(1)
    return numbered(nickname, lambda name: connection.scalar(there.where(identities.c.nickname == name)) is not None)


def _known(connection: Connection, token_hash: str) -> Identity | None:
    columns = (identities.c.id, identities.c.role, identities.c.nickname, identities.c.created_at)
    row = connection.execute(select(*columns).where(identities.c.token_hash == token_hash)).first()
    return Identity(*row) if row is not None else None


def _added(connection: Connection, role: Role, nickname: str, token_hash: str) -> Identity:
    values = {"role": role, "nickname": nickname, "token_hash": token_hash, "created_at": time.time()}
    connection.execute(identities.insert().values(**values))
    found = _known(connection, token_hash)
    assert found is not None, "just written"
    return found


def _moment(seconds: float) -> str:
    """A time of day as text that sorts like it."""
    return f"{seconds:017.3f}"
