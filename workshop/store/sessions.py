"""Sessions in the store, and whether it holds a recording, which is for looking at: nothing is started in it."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, TypedDict, Unpack

from sqlalchemy import ColumnElement, Connection, Double, Row, and_, bindparam, case, func, literal, select

from workshop.core.errors import BadInput
from workshop.store.database import Database, inserted
from workshop.store.records import Limits, SessionRecord, SessionState
from workshop.store.tables import sessions, settings

SILENT = 5.0  # seconds without a heartbeat after which a conductor counts as dead
GONE = ("stopped", "failed", "recorded")  # states of a session that has no conductor, and says so
_NAME = re.compile(r"[a-z0-9-]{1,40}")


class SessionChanges(TypedDict, total=False):
    """The columns of a session that can change."""

    state: SessionState
    message: str
    placement: Mapping[str, Any]
    limits: Limits
    machine: Mapping[str, Any]
    rank_map: Mapping[str, Any] | None
    site: Mapping[str, Any]
    conductor_pid: int | None
    heartbeat_at: float


# Statements that are asked many times a second are built once: building one takes longer than its answer.
# Whether a session's conductor has not been heard of for too long, when the statement is executed.
SILENT_NOW: ColumnElement[bool] = func.coalesce(sessions.c.heartbeat_at, sessions.c.created_at) < bindparam(
    "silent_since", callable_=lambda: time.time() - SILENT, type_=Double
)
_STATE = case((and_(sessions.c.state.not_in(GONE), SILENT_NOW), literal("lost")), else_=sessions.c.state)
_SELECT = select(*(_STATE.label("state") if column is sessions.c.state else column for column in sessions.c))
_BY_ID = _SELECT.where(sessions.c.id == bindparam("wanted"))
_BY_NAME = _SELECT.where(sessions.c.name == bindparam("wanted"))


class Sessions:
    """Launched clusters, with their conductors' reports."""

    database: Database

    def create_session(
        self,
        name: str,
        placement: Mapping[str, Any],
        limits: Limits | None = None,
        private: bool = False,
        machine: Mapping[str, Any] | None = None,
        site: Mapping[str, Any] | None = None,
    ) -> SessionRecord:
        """A new session in the state `starting`; a stopped or failed one of that name begins again, with its history.

        Raises BadInput for a name that isn't one, or that a session which is up has.
        """
        if not _NAME.fullmatch(name):
            raise BadInput(
                f"{name!r} can't be a session's name; it should be 1 to 40 of the characters a to z, 0 to 9 and -."
            )
        now = time.time()
        fresh = {
            "state": "starting",
            "message": "",
            "placement": dict(placement),
            "limits": asdict(limits or Limits()),
            "private": private,
            "machine": dict(machine or {}),
            "rank_map": None,
            "conductor_pid": None,
            "heartbeat_at": now,
            "created_at": now,
            "stop_requested": False,
            "reset_requested": False,
            "site": dict(site) if site else None,
        }
        with self.database.writing() as connection:
            refuse(connection)
            row = connection.execute(
                select(sessions.c.id, sessions.c.state, SILENT_NOW.label("silent")).where(sessions.c.name == name)
            ).first()
            if row is None:
                session_id = inserted(connection, sessions.insert().values(name=name, **fresh))
            elif row.state in GONE:
                session_id = row.id
                connection.execute(sessions.update().where(sessions.c.id == session_id).values(**fresh))
            elif row.silent:
                raise BadInput(
                    f"Session {name} was left by its conductor; clean up with `workshop session stop {name}` first."
                )
            else:
                raise BadInput(
                    f"Session {name} is {row.state} already; take another name, or stop it with "
                    f"`workshop session stop {name}`."
                )
        return self.session(session_id)

    def session(self, name_or_id: str | int) -> SessionRecord:
        """One session, by its name (a str) or id (an int). Raises BadInput naming those there are."""
        query = _BY_ID if isinstance(name_or_id, int) else _BY_NAME
        with self.database.reading() as connection:
            row = connection.execute(query, {"wanted": name_or_id}).first()
            if row is not None:
                return _record(row)
            names = connection.scalars(
                select(sessions.c.name).where(~sessions.c.private).order_by(sessions.c.name)
            ).all()
        existing = f"there are {', '.join(names)}" if names else "there are none yet (workshop session start NAME)"
        raise BadInput(f"There is no session {name_or_id!r}; {existing}.")

    def sessions(self) -> list[SessionRecord]:
        """All sessions, in the order of their names."""
        with self.database.reading() as connection:
            return [_record(row) for row in connection.execute(_SELECT.order_by(sessions.c.name))]

    def update_session(self, session_id: int, **changes: Unpack[SessionChanges]) -> None:
        """Write the given fields; `state="starting"` also starts the time within which its conductor must be heard."""
        values: dict[str, Any] = dict(changes)
        if "limits" in changes:
            values["limits"] = asdict(changes["limits"])
        if changes.get("state") == "starting":
            values["heartbeat_at"] = time.time()
        self._change(session_id, **values)

    def heartbeat(self, session_id: int) -> None:
        """The conductor is alive."""
        self._change(session_id, heartbeat_at=time.time())

    def request_stop(self, session_id: int) -> None:
        self._change(session_id, stop_requested=True)

    def request_reset(self, session_id: int) -> None:
        self._change(session_id, reset_requested=True)

    def clear_reset(self, session_id: int) -> None:
        """A reset is under way. A stop that somebody asked for meanwhile stays asked for."""
        self._change(session_id, reset_requested=False)

    def _change(self, session_id: int, **values: Any) -> None:
        with self.database.writing() as connection:
            changed = connection.execute(sessions.update().where(sessions.c.id == session_id).values(**values))
            if changed.rowcount == 0:
                raise BadInput(f"There is no session with the id {session_id}.")


def _record(row: Row[Any]) -> SessionRecord:
    values = dict(row._mapping)
    return SessionRecord(**values | {"limits": Limits(**values["limits"]), "site": values["site"] or {"kind": "local"}})


KEY = "recorded"  # of the settings: when and where what the store holds was recorded
_ORIGIN = select(settings.c.value).where(settings.c.key == KEY)


@dataclass(frozen=True)
class RecordingOrigin:
    """When (seconds since the epoch) and on what machine (in words) the contents of a store were recorded."""

    at: float
    machine: str
    note: str = ""  # what else those have to know who look at it

    @property
    def words(self) -> str:
        """The sentence on every page of a recording."""
        when = time.strftime("%d %B %Y", time.localtime(self.at)).lstrip("0")
        return f"Recorded on {when}, on {self.machine}; nothing runs here. {self.note}".rstrip()


def recorded(database: Database) -> RecordingOrigin | None:
    """The origin of a recorded store; None for any other store."""
    with database.reading() as connection:
        return _read(connection)


def mark(connection: Connection, origin: RecordingOrigin) -> None:
    """Mark a store as a recording's."""
    connection.execute(settings.insert().values(key=KEY, value=json.dumps(asdict(origin))))


def refuse(connection: Connection) -> None:
    """Raises BadInput where nothing may be started, since all that is there was recorded. Within the transaction that
    would start something, so that there is no way around."""
    if (origin := _read(connection)) is not None:
        raise BadInput(f"{origin.words} `workshop up` without --replay brings up a session of your own.")


def refuse_in(database: Database) -> None:
    """The same before anything else is looked at."""
    with database.reading() as connection:
        refuse(connection)


def now(database: Database) -> float:
    """The present time; for a recording the time of its making, so that nothing in it looks old."""
    origin = recorded(database)
    return origin.at if origin is not None else time.time()


def _read(connection: Connection) -> RecordingOrigin | None:
    origin = connection.scalar(_ORIGIN)
    return RecordingOrigin(**json.loads(origin)) if origin else None
