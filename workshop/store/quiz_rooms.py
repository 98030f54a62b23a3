"""The dashboard that hosts a live round. Only one can, because its memory holds the round's room."""

from __future__ import annotations

import time

from sqlalchemy import select

from workshop.core.errors import BadInput
from workshop.store.database import Database
from workshop.store.records import QuizRoom
from workshop.store.sessions import SILENT
from workshop.store.tables import quiz_rooms, quiz_rounds


class QuizRooms:
    """The processes that host rounds. A host sends a heartbeat every second; a silent host counts as dead."""

    database: Database

    def take_room(self, round_id: int, host: str, place: str) -> QuizRoom | None:
        """Host a round from now on, as `host`, which is at this place; `keep_room` has to follow every second.

        Returns None, or the record of another host that has the round. Raises BadInput where there is no such round.
        """
        values = {"host": host, "place": place, "heartbeat_at": time.time()}
        this = quiz_rooms.c.round_id == round_id
        with self.database.writing() as connection:
            room = connection.execute(select(quiz_rooms).where(this)).first()
            if room is not None and room.host != host and room.heartbeat_at >= time.time() - SILENT:
                return QuizRoom(**room._mapping)
            if room is not None:
                connection.execute(quiz_rooms.update().where(this).values(**values))
            elif connection.scalar(select(quiz_rounds.c.id).where(quiz_rounds.c.id == round_id)) is None:
                raise BadInput(f"There is no quiz round {round_id}; `workshop quiz rounds` shows those there are.")
            else:
                connection.execute(quiz_rooms.insert().values(round_id=round_id, **values))
        return None

    def keep_room(self, round_id: int, host: str) -> None:
        """Say that `host` still hosts a round."""
        update = quiz_rooms.update().where(quiz_rooms.c.round_id == round_id, quiz_rooms.c.host == host)
        with self.database.writing() as connection:
            connection.execute(update.values(heartbeat_at=time.time()))

    def leave_room(self, round_id: int, host: str) -> None:
        """Say that `host` hosts a round no longer."""
        with self.database.writing() as connection:
            connection.execute(quiz_rooms.delete().where(quiz_rooms.c.round_id == round_id, quiz_rooms.c.host == host))
