"""Leases in the store: who has a session's ranks for cells of a notebook, and who wants them."""

from __future__ import annotations

import time
from typing import Any

from sqlalchemy import Update, bindparam, select

from workshop.core.errors import BadInput
from workshop.store.database import Database, inserted
from workshop.store.records import Lease, SessionState
from workshop.store.tables import leases, sessions

# Built once, see `workshop.store.sessions`: a conductor asks ten times a second.
_OPEN = (
    select(leases)
    .where(leases.c.session_id == bindparam("wanted"), leases.c.state.in_(("wanted", "held")))
    .order_by(leases.c.id)
)


class Leases:
    """A lease is wanted, then held, then ended; only its session's conductor lets anybody hold one."""

    database: Database

    def ask_lease(self, session_id: int, holder: str, host: str, pid: int, pid_began_at: float) -> Lease:
        """Want a session's ranks for a process, which `holder` names in words. Raises BadInput where there is no such
        session."""
        now = time.time()
        with self.database.writing() as connection:
            if connection.scalar(select(sessions.c.id).where(sessions.c.id == session_id)) is None:
                raise BadInput(f"There is no session with the id {session_id}.")
            values = {
                "session_id": session_id,
                "holder": holder,
                "host": host,
                "pid": pid,
                "pid_began_at": pid_began_at,
                "state": "wanted",
                "why": "",
                "asked_at": now,
                "heartbeat_at": now,
            }
            lease_id = inserted(connection, leases.insert().values(**values))
        return self.lease(lease_id)

    def lease(self, lease_id: int) -> Lease:
        """The lease with that id. Raises BadInput where there is none."""
        with self.database.reading() as connection:
            row = connection.execute(select(leases).where(leases.c.id == lease_id)).first()
        if row is None:
            raise BadInput(f"There is no lease {lease_id}.")
        return Lease(**row._mapping)

    def leases(self, session_id: int) -> list[Lease]:
        """A session's waiting and held leases, the oldest first."""
        with self.database.reading() as connection:
            return [Lease(**row._mapping) for row in connection.execute(_OPEN, {"wanted": session_id})]

    def hold_lease(self, lease_id: int) -> bool:
        """Give a waiting lease its ranks. False, without a change, where nobody waits for it any longer."""
        return self._move(lease_id, ("wanted",), state="held", held_at=time.time())

    def lease_heartbeat(self, lease_id: int) -> bool:
        """Say that the holder of a lease is alive. False where the lease has ended."""
        return self._move(lease_id, ("wanted", "held"), heartbeat_at=time.time())

    def tell_lease(self, lease_id: int, why: str) -> bool:
        """Say why the ranks of a lease were replaced; "" withdraws the reason. False where the lease has ended."""
        return self._move(lease_id, ("wanted", "held"), why=why)

    def end_lease(self, lease_id: int, why: str = "") -> bool:
        """End a lease. False, and nothing changed, for one that has ended already."""
        return self._move(lease_id, ("wanted", "held"), state="ended", why=why, ended_at=time.time())

    def end_leases(self, session_id: int, why: str) -> int:
        """End all leases of a session. Returns how many there were."""
        with self.database.writing() as connection:
            return connection.execute(_ending(session_id, why)).rowcount

    def end_session(self, session_id: int, state: SessionState, message: str) -> None:
        """Write the last state of a session and end its leases, both at once: who finds a lease ended, and reads the
        session after it, finds that ended, too."""
        with self.database.writing() as connection:
            connection.execute(_ending(session_id, message or "the session was stopped"))
            last = sessions.update().where(sessions.c.id == session_id)
            connection.execute(last.values(state=state, message=message))

    def _move(self, lease_id: int, states: tuple[str, ...], **values: Any) -> bool:
        change = leases.update().where(leases.c.id == lease_id, leases.c.state.in_(states))
        with self.database.writing() as connection:
            return connection.execute(change.values(**values)).rowcount == 1


def _ending(session_id: int, why: str) -> Update:
    still = leases.update().where(leases.c.session_id == session_id, leases.c.state.in_(("wanted", "held")))
    return still.values(state="ended", why=why, ended_at=time.time())
