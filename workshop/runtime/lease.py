"""The holder's side of a lease: it holds a session's ranks, to run a notebook's cells on them.

The conductor decides who has the ranks (`runtime.lease_manager`), starts them and replaces missing ones. Only the
holder calls functions on them. It connects to the session's controller by files in the session's folder, so it has to
run on a machine with that folder.
"""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType

import psutil

from workshop.core.errors import BadInput, WorkshopError
from workshop.registry import workload_title
from workshop.runtime import client as clients
from workshop.runtime.engine_client import Ranks, Who, connected, who
from workshop.store.records import Lease, SessionRecord
from workshop.store.store import Store

TIMEOUT = 120.0  # seconds that somebody waits for ranks
UP = 90.0  # seconds within which new ranks must be up
NOTICED = 5.0  # seconds within which a conductor has noticed that ranks are gone, and said why
HEARTBEAT = 2.0  # seconds
GIVEN_BACK = 3600.0  # seconds for which giving the ranks back is tried while the store doesn't answer
LOOK = 0.1  # seconds between looks at the store


class Gone(WorkshopError):
    """Ranks that were lent are ours no longer."""


def take(
    store: Store,
    session: SessionRecord,
    holder: str,
    *,
    learner: bool = False,
    on_look: Callable[[SessionRecord], None] | None = None,
    give_up: Callable[[], bool] | None = None,
    timeout: float = TIMEOUT,
) -> HeldRanks:
    """Wait for a session's ranks and hold them; `holder` names the holder in words ("ada's notebook").

    Each look at the session calls `on_look` with it, then `give_up`. Runs in the session's queue wait meanwhile. Raises
    BadInput for a session that isn't up, a learner who asks for a session that isn't private, and a process that has
    the ranks already; WorkshopError where the ranks aren't lent within `timeout` seconds, or never will be.
    """
    now = store.session(session.id)
    if learner and not now.private:
        raise BadInput(
            f"Only the instructor can take the ranks of session {now.name}, which everybody shares; use ranks of your "
            "own (%%ranks without --shared)."
        )
    if not now.up:
        raise BadInput(f"The ranks of session {now.name} can't be taken: it is {now.state}; {_way_on(now)}.")
    me = psutil.Process()
    here = socket.gethostname()
    if any((open_.host, open_.pid) == (here, me.pid) for open_ in store.leases(now.id) if open_.state == "held"):
        raise BadInput(f"This notebook has the ranks of session {now.name} already; give them back first.")
    lease = HeldRanks(store, now, store.ask_lease(now.id, holder, here, me.pid, me.create_time()))
    try:
        lease._wait(on_look or (lambda _: None), give_up or (lambda: False), timeout)
    except BaseException:
        lease.release()
        raise
    return lease


class HeldRanks:
    """Ranks that this process holds, from `take` until `release` or the end of the process; also as a `with` block."""

    def __init__(self, store: Store, session: SessionRecord, lease: Lease) -> None:
        self.store = store
        self.session_id = session.id
        self.lease_id = lease.id
        self._name = session.name
        self._ranks: Ranks | None = None
        self._who: Who = ()
        self._connecting = threading.RLock()
        self._released = threading.Event()
        threading.Thread(target=self._beat, name=f"lease {lease.id}", daemon=True).start()

    def __enter__(self) -> HeldRanks:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.release()

    def check(self) -> SessionRecord:
        """The session, while its ranks are ours. Raises Gone with the reason and a way on where they aren't
        any longer: it was stopped, its conductor died, the instructor took them back."""
        lease = self.store.lease(self.lease_id)  # before its session, which ends in the same moment or earlier
        session = self.store.session(self.session_id)
        if self._released.is_set():
            raise Gone(f"The ranks of session {self._name} were given back; take them again.")
        if lease.state == "ended" and session.up:
            why = lease.why or "they were given back"
            raise Gone(f"The ranks of session {self._name} are ours no longer: {why}; take them again.")
        if lease.state == "ended" or not (session.up or clients.has_conductor(session)):
            why = {"lost": "its conductor has died"}.get(session.state, f"it is {session.state}")
            if session.message and session.state == "failed":
                why = f"{why} ({session.message.rstrip('.')})"
            raise Gone(f"The ranks of session {self._name} are gone: {why}; {_way_on(session)}.")
        return session

    @property
    def ranks(self) -> Ranks:
        """The connection of `up`, without `give_up`."""
        return self.up()

    def up(self, give_up: Callable[[], bool] = lambda: False) -> Ranks:
        """A connection to the running ranks, a new object after they were replaced. Waits while ranks start, until
        `give_up`. Raises WorkshopError where no ranks will come, and after `give_up`."""
        with self._connecting:
            session = self.check()
            ranks = self._ranks if self._ranks is not None and self._ranks.alive else None
            if ranks is not None and session.state == "leased" and who(session.rank_map) == self._who:
                return ranks
            gone = self._who if self._ranks is not None and ranks is None else None
            return self._connect(self._until_up(gone, give_up))

    def why_gone(self, seconds: float = NOTICED, give_up: Callable[[], bool] = lambda: False) -> str:
        """Why the ranks that were connected to last are gone, in one sentence without its full stop; "" where nobody
        has said so within `seconds`, or until `give_up`. Raises WorkshopError where there will be none."""
        deadline = time.monotonic() + seconds
        while True:
            self.check()
            if why := self.store.lease(self.lease_id).why:
                return why
            if time.monotonic() > deadline or give_up():
                return ""
            time.sleep(LOOK)

    def restart(self, why: str, give_up: Callable[[], bool] = lambda: False) -> None:
        """Replace the ranks in any state, and wait for new ones as `up` does; all names on them are lost. Everybody
        sees `why` meanwhile. Raises WorkshopError."""
        with self._connecting:
            before = who(self.check().rank_map)
            self.store.tell_lease(self.lease_id, why)
            self.store.request_reset(self.session_id)
            self._disconnect()
            self._connect(self._until_up(before, give_up))

    def release(self) -> None:
        """Give the ranks back; they are thrown away. May be called again, and never raises for a session that is
        gone, or a store that doesn't answer."""
        if not self._released.is_set():
            self._released.set()
            try:
                self.store.end_lease(self.lease_id)
            except WorkshopError:  # else others would wait for as long as this process lives
                threading.Thread(target=self._end, name=f"end of lease {self.lease_id}", daemon=True).start()
            self._disconnect()

    def _end(self) -> None:
        """End the lease as soon as the store answers again, for at most `GIVEN_BACK` seconds."""
        deadline = time.monotonic() + GIVEN_BACK
        while time.monotonic() < deadline:
            time.sleep(HEARTBEAT)
            with suppress(WorkshopError):
                self.store.end_lease(self.lease_id)
                return

    def _beat(self) -> None:
        while not self._released.wait(HEARTBEAT):
            with suppress(Exception):  # a busy store: there are more beats than are needed
                if not self.store.lease_heartbeat(self.lease_id):
                    return

    def _wait(self, on_look: Callable[[SessionRecord], None], give_up: Callable[[], bool], timeout: float) -> None:
        deadline = time.monotonic() + timeout
        while True:
            lease, session = self.store.lease(self.lease_id), self.store.session(self.session_id)
            on_look(session)
            if lease.state == "held":
                return
            if lease.state == "ended":
                why = lease.why or f"session {self._name} is {session.state}"
                raise WorkshopError(f"The ranks of session {self._name} were not lent: {why}; try again.")
            if not (session.up or clients.has_conductor(session)):
                raise WorkshopError(
                    f"The ranks of session {self._name} were not lent: it is {session.state}; {_way_on(session)}."
                )
            if give_up():
                raise WorkshopError(f"Waiting for the ranks of session {self._name} was given up.")
            if time.monotonic() > deadline:
                raise WorkshopError(
                    f"The ranks of session {self._name} were not free within {timeout:g} s "
                    f"({self._in_front(session)}); try again when they are."
                )
            time.sleep(LOOK)

    def _in_front(self, session: SessionRecord) -> str:
        """The present user of the ranks, in words."""
        before = [lease for lease in self.store.leases(self.session_id) if lease.id < self.lease_id]
        if before:
            return f"{before[0].holder} {'has the ranks' if before[0].state == 'held' else 'comes first'}"
        running = self.store.runs(session_id=self.session_id, status="running", limit=1)
        if running:
            return f"run {running[0].id}, {workload_title(running[0].workload)}, goes on"
        return session.message or f"the session is {session.state}"

    def _until_up(self, gone: Who | None, give_up: Callable[[], bool]) -> SessionRecord:
        """Wait for new ranks, and return the session."""
        deadline = time.monotonic() + UP
        while True:
            session = self.check()
            if session.state == "leased" and not session.reset_requested and who(session.rank_map) != gone:
                return session
            if give_up():
                raise WorkshopError(f"Waiting for new ranks of session {self._name} was given up.")
            if time.monotonic() > deadline:
                raise WorkshopError(
                    f"Session {self._name} had no ranks within {UP:g} s ({session.message or session.state}); "
                    "give them back and take them again."
                )
            time.sleep(LOOK)

    def _connect(self, session: SessionRecord) -> Ranks:
        self._disconnect()
        self.store.tell_lease(self.lease_id, "")
        these = who(session.rank_map)
        self._ranks = connected(session, these)
        self._who = these
        return self._ranks

    def _disconnect(self) -> None:
        ranks, self._ranks, self._who = self._ranks, None, ()
        if ranks is not None:
            ranks.close()


def _way_on(session: SessionRecord) -> str:
    if session.private:
        return "run the cell again to get new ones"
    return f"start it with `workshop session start {session.name}`, then take them again"
