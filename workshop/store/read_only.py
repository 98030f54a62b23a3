"""Whether a store holds a recording, which is for looking at: nothing is started in it."""

from __future__ import annotations

import json
import time
from dataclasses import asdict, dataclass

from sqlalchemy import Connection, select

from workshop.core.errors import BadInput
from workshop.store.database import Database
from workshop.store.tables import settings

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
