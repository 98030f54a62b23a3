"""The roster of a class in the store: presence, last actions, requests for help, and the removal of all names."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import fields

from sqlalchemy import String, bindparam, cast, literal, select, union

from workshop.store.identities import Identities, tell_changed
from workshop.store.records import Attendance
from workshop.store.tables import guesses, identities, progress, quiz_players, runs, studies

FORMER = "Former learner"  # in place of the names of learners who were removed
_OUT = "out:"  # no hash of a cookie begins so
_LEARNERS = identities.c.role == "learner"
_REMOVED = (identities.c.nickname == FORMER) & identities.c.token_hash.startswith(_OUT, autoescape=True)


class Attendances(Identities):
    """Identities with their attendance, which stands in their rows."""

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
