"""The people who logged in to the dashboard: their nicknames, presence, last actions, requests for help, and the
removal of all names; and small settings."""

from __future__ import annotations

import secrets
import time
import unicodedata
from collections.abc import Collection, Iterable, Mapping
from dataclasses import fields
from hashlib import sha256
from itertools import chain, count

from sqlalchemy import (
    Column,
    ColumnElement,
    Connection,
    Delete,
    String,
    bindparam,
    case,
    cast,
    func,
    literal,
    select,
    union,
)

from workshop.core.errors import BadInput
from workshop.store.database import Database
from workshop.store.records import Attendance, Identity, Role
from workshop.store.tables import INSTRUCTOR, guesses, identities, progress, quiz_players, runs, settings, studies

LONGEST_NICKNAME = 30
STAY = 30 * 86400.0  # seconds for which a cookie is valid
_ANYBODY: tuple[Role, ...] = ("instructor", "learner", "player")
_NOTEBOOK = "notebook:"  # no hash of a cookie begins so: nobody comes in by it
_COOKIE = "cookie:"  # keys of the settings: hashes of cookies of such a learner, whom JupyterHub has named


class Identities:
    """Identities are looked up by the hash of their token: how long a look-up takes tells nothing of the token."""

    database: Database

    def add_identity(self, role: Role, nickname: str, token_hash: str, numbered: bool = False) -> Identity:
        """Let somebody in; `token_hash` is the SHA-256 of the secret that their cookie holds. `numbered`: a nickname
        that somebody has already gets a number."""
        with self.database.writing() as connection:
            name = _free(connection, nickname, _ANYBODY) if numbered else nickname
            return _added(connection, role, name, token_hash, time.time())

    def identity(self, token_hash: str) -> Identity | None:
        """The identity that is logged in with the token of this hash; None where there is none, or it was logged
        out."""
        with self.database.reading() as connection:
            return _find(connection, token_hash, identities.c.let_in_at > time.time() - STAY)

    def valid_tokens(self, token_hashes: Iterable[str]) -> set[str]:
        """The hashes among these whose tokens let somebody in."""
        logged_in = select(identities.c.token_hash).where(identities.c.let_in_at > time.time() - STAY)
        tokens = list(token_hashes)
        cookies = select(settings.c.key).where(
            settings.c.key.in_([_COOKIE + token for token in tokens]), settings.c.value.in_(logged_in)
        )
        with self.database.reading() as connection:
            named_by_hub = {key.removeprefix(_COOKIE) for key in connection.scalars(cookies)}
            return named_by_hub | set(connection.scalars(logged_in.where(identities.c.token_hash.in_(tokens))))

    def former_identity(self, token_hash: str) -> Identity | None:
        """The identity that is or was logged in with the token of this hash and did not log out."""
        with self.database.reading() as connection:
            return _find(connection, token_hash)

    def let_in_again(self, former_hash: str, token_hash: str, role: Role, nickname: str) -> Identity | None:
        """Give an identity a new token in place of the former one. Returns None where no identity with this role and
        nickname had it."""
        this = identities.update().filter_by(token_hash=former_hash, role=role, nickname=nickname)
        with self.database.writing() as connection:
            if connection.execute(this.values(token_hash=token_hash, let_in_at=time.time())).rowcount == 0:
                return None
            tell_changed(connection)
            return _find(connection, token_hash)

    def log_out(self, identity_id: int) -> None:
        """Make a person's token invalid; the person can't come back, isn't here any more, and asks for no help."""
        known_by = identities.c.token_hash
        out = literal(f"{_OUT}{identity_id}:{secrets.token_hex(16)}")
        token = case((known_by.startswith(_NOTEBOOK, autoescape=True), known_by), else_=out)  # notebooks stay theirs
        token_before = select(known_by).where(identities.c.id == identity_id).scalar_subquery()
        values = {"token_hash": token, **dict.fromkeys(("let_in_at", "seen_at", "help_asked_at"))}
        with self.database.writing() as connection:
            connection.execute(_cookies().where(settings.c.value == token_before))
            connection.execute(identities.update().where(identities.c.id == identity_id).values(**values))
            tell_changed(connection)

    def log_out_all(self, roles: Collection[Role] = _ANYBODY) -> None:
        """Make the tokens of everybody in these roles invalid until they log in again, and delete all tickets."""
        with self.database.writing() as connection:
            connection.execute(settings.delete().where(settings.c.key.startswith(_TICKET, autoescape=True)))
            connection.execute(identities.update().where(identities.c.role.in_(roles)).values(let_in_at=None))
            if "learner" in roles:
                connection.execute(_cookies())
            tell_changed(connection)

    def changes(self) -> str:
        """A text that changes whenever tokens have become valid or invalid."""
        return self.setting(_CHANGES) or ""

    def learner(self, name: str) -> Identity:
        """The learner whose notebooks have this name, who is let in if new.

        A learner who came through the dashboard with the same nickname is another person, with other limits and runs.
        Where that learner exists, the new one gets a number.
        """
        known_by = _notebook(name)
        with self.database.writing() as connection:
            known_learner = _find(connection, known_by)
            return known_learner or _added(connection, "learner", _free(connection, name, ["learner"]), known_by)

    def let_in_account(self, name: str, token_hash: str) -> Identity:
        """Let in the learner whose notebooks have this name by one more cookie; JupyterHub has confirmed the name."""
        person = self.learner(name)
        this = identities.update().where(identities.c.id == person.id)
        with self.database.writing() as connection:
            connection.execute(this.values(let_in_at=time.time()))
            _set(connection, _COOKIE + token_hash, _notebook(name))
        return person

    def of_notebooks(self, names: Iterable[str]) -> dict[int, str]:
        """The ids of learners among these who came from notebooks, with their names there."""
        name_of_hash = {_notebook(name): name for name in names}
        these = identities.c.token_hash.startswith(_NOTEBOOK, autoescape=True)
        with self.database.reading() as connection:
            rows = connection.execute(select(identities.c.id, identities.c.token_hash).where(these)).all()
        return {row.id: name_of_hash[row.token_hash] for row in rows if row.token_hash in name_of_hash}

    def add_ticket(self, ticket_hash: str, until: float) -> None:
        """Store the hash of a ticket that is valid until then; expired ones are deleted."""
        with self.database.writing() as connection:
            is_ticket = settings.c.key.startswith(_TICKET, autoescape=True)
            connection.execute(settings.delete().where(is_ticket, settings.c.value < _moment(time.time())))
            connection.execute(settings.insert().values(key=_TICKET + ticket_hash, value=_moment(until)))

    def take_ticket(self, ticket_hash: str) -> bool:
        """Use up a ticket. Returns whether it was valid: a ticket is valid once."""
        still_valid = settings.c.value >= _moment(time.time())
        with self.database.writing() as connection:
            deletion = connection.execute(settings.delete().where(settings.c.key == _TICKET + ticket_hash, still_valid))
        return deletion.rowcount == 1

    def setting(self, key: str) -> str | None:
        """A small setting; None where it was never set."""
        with self.database.reading() as connection:
            return connection.scalar(select(settings.c.value).where(settings.c.key == key))

    def set_setting(self, key: str, value: str) -> None:
        with self.database.writing() as connection:
            _set(connection, key, value)

    def attendances(self) -> list[Attendance]:
        """All learners of the class who came in through the dashboard or a notebook, the first one first."""
        columns = [identities.c[field.name] for field in fields(Attendance)]
        query = select(*columns).where(_LEARNERS, ~_REMOVED).order_by(identities.c.id)
        with self.database.reading() as connection:
            return [Attendance(*row) for row in connection.execute(query)]

    def keep_presence(
        self, present: Iterable[int], now: float, actions: Mapping[int, tuple[str, float]] | None = None
    ) -> None:
        """Keep that pages of these identities are open, and last actions with their times, in one transaction."""
        row = identities.c.id == bindparam("identity")
        seen_rows = [{"identity": number, "seen_at": now} for number in present]
        action_rows = [
            {"identity": number, "action": action, "acted_at": at} for number, (action, at) in (actions or {}).items()
        ]
        with self.database.writing() as connection:
            for rows in (seen_rows, action_rows):
                if rows:
                    names = rows[0].keys() - {"identity"}
                    change = identities.update().where(row).values({name: bindparam(name) for name in names})
                    connection.execute(change, rows)

    def keep_help(self, identity_id: int, needed: bool) -> None:
        """Keep that somebody asks for help, with the time of the first request; or that they need no help any more."""
        row = identities.update().where(identities.c.id == identity_id)
        if needed:
            row = row.where(identities.c.help_asked_at.is_(None))
        with self.database.writing() as connection:
            connection.execute(row.values(help_asked_at=time.time() if needed else None))

    def remove_learners(self, owner: str) -> None:
        """Delete all learners of the class with their progress, and log them out. Where a run, a guess or a place in a
        round belongs to them, its row stays without their name. The progress of the machine's
        `owner` stays."""
        learners = select(identities.c.id).where(_LEARNERS)
        nicknames = select(identities.c.nickname).where(_LEARNERS)
        referring = (runs.c.identity_id, guesses.c.identity_id, quiz_players.c.identity_id)
        referred = union(*(select(column).where(column.is_not(None)) for column in referring))
        former = {name: None for name in ("let_in_at", "seen_at", "action", "acted_at", "help_asked_at")}
        token = literal(_OUT) + cast(identities.c.id, String)
        numbered = literal(f"{FORMER} ") + cast(quiz_players.c.id, String)
        with self.database.writing() as connection:
            for change in (
                runs.update().where(runs.c.identity_id.in_(learners)).values(submitted_by=FORMER),
                studies.update().where(studies.c.submitted_by.in_(nicknames)).values(submitted_by=FORMER),
                quiz_players.update().where(quiz_players.c.identity_id.in_(learners)).values(nickname=numbered),
                progress.delete().where(progress.c.learner != owner),
                identities.delete().where(_LEARNERS, identities.c.id.not_in(referred)),
                identities.update().where(_LEARNERS).values(nickname=FORMER, token_hash=token, **former),
            ):
                connection.execute(change)
            tell_changed(connection)


_TICKET = "ticket:"  # keys of the settings
_CHANGES = "logged_out"


def numbered(connection: Connection, nickname: str, column: Column[str], among: ColumnElement[bool]) -> str:
    """The nickname, with a number where the rows `among` have it already in this column; a long one is cut."""
    stem = nickname[: LONGEST_NICKNAME - 5]
    used = set(connection.scalars(select(column).where(among, column.startswith(stem, autoescape=True))))
    names = chain([nickname], (f"{stem} {number}" for number in count(2)))
    return next(name for name in names if name not in used)


def _set(connection: Connection, key: str, value: str) -> None:
    if connection.execute(settings.update().where(settings.c.key == key).values(value=value)).rowcount == 0:
        connection.execute(settings.insert().values(key=key, value=value))


def tell_changed(connection: Connection) -> None:
    """Make all dashboards of this store ask again which tokens are valid."""
    _set(connection, _CHANGES, secrets.token_hex(8))


def _cookies() -> Delete:
    return settings.delete().where(settings.c.key.startswith(_COOKIE, autoescape=True))


def _notebook(name: str) -> str:
    """The value in place of a cookie for a learner from a notebook."""
    return _NOTEBOOK + sha256(name.encode("utf-8", "surrogatepass")).hexdigest()


def _free(connection: Connection, nickname: str, roles: Collection[Role]) -> str:
    """The nickname, with a number where somebody in one of these roles has it."""
    return numbered(connection, nickname, identities.c.nickname, identities.c.role.in_(roles))


def _find(connection: Connection, token_hash: str, *conditions: ColumnElement[bool]) -> Identity | None:
    columns = (identities.c.id, identities.c.role, identities.c.nickname, identities.c.created_at)
    person = select(settings.c.value).where(settings.c.key == _COOKIE + token_hash).scalar_subquery()
    this = identities.c.token_hash == func.coalesce(person, token_hash)
    row = connection.execute(select(*columns).where(this, *conditions)).first()
    return Identity(*row) if row is not None else None


def _added(
    connection: Connection, role: Role, nickname: str, token_hash: str, let_in_at: float | None = None
) -> Identity:
    values = {"role": role, "nickname": nickname, "token_hash": token_hash, "let_in_at": let_in_at}
    connection.execute(identities.insert().values(**values, created_at=time.time()))
    identity = _find(connection, token_hash)
    assert identity is not None, "just written"
    return identity


def _moment(seconds: float) -> str:
    """A moment (seconds since the epoch) as text; texts sort like their moments."""
    return f"{seconds:017.3f}"


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


FORMER = "Former learner"  # in place of the names of learners who were removed
_OUT = "out:"  # no hash of a cookie begins so
_LEARNERS = identities.c.role == "learner"
_REMOVED = (identities.c.nickname == FORMER) & identities.c.token_hash.startswith(_OUT, autoescape=True)
