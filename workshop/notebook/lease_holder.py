"""The ranks of a notebook's cells: its own, a private session that the first cell starts and that ends with the kernel
however that ends, or leased ones of the shared session."""

from __future__ import annotations

import atexit
import os
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from workshop.core.errors import BadInput, WorkshopError
from workshop.core.placement import Placement
from workshop.core.words import count
from workshop.course import learner
from workshop.notebook.output import Output
from workshop.runtime import lease, lifecycle
from workshop.runtime.engine_client import Ranks
from workshop.runtime.lease import HeldRanks
from workshop.store.records import SessionRecord
from workshop.store.store import Store

if TYPE_CHECKING:
    from workshop.notebook.session import Session


LEAST = 2  # ranks that a notebook has where its session has as many, on whatever machine
ENDS = 4.0  # seconds for their end: Jupyter gives a kernel five


def placement(other: Placement) -> Placement:
    """A placement with as many ranks as the other, but no more than this machine has cores, and with the same MPI."""
    cores = len(os.sched_getaffinity(0))
    return Placement(ranks=min(other.ranks, max(cores, LEAST)), mpi=other.mpi)


class OwnRanks:
    """At most one private session at a time."""

    def __init__(self, store: Store, where: Placement, holder: str) -> None:
        self.placement = where
        self._store = store
        self._holder = holder
        self._held: HeldRanks | None = None
        self._session: SessionRecord | None = None
        self._conductor: subprocess.Popen[bytes] | None = None

    @property
    def ranks(self) -> HeldRanks | None:
        """The ranks that are there; None where there are none yet. Raises WorkshopError where they are gone."""
        if self._held is not None:
            self.check()
        return self._held

    def check(self) -> None:
        """Raises Gone where the ranks are gone; at once where their conductor is, which others see later."""
        if self._held is None or self._conductor is None or self._conductor.poll() is not None:
            raise lease.Gone("The session of this notebook's ranks has died; run the cell again to get new ones.")
        self._held.check()

    def start(self, say: Callable[[str], None], give_up: Callable[[], bool]) -> HeldRanks:
        """Start ranks, after ending earlier ones; `say` gets the progress. Raises WorkshopError."""
        self.close()
        name = lifecycle.private_name("cells")
        session, conductor = lifecycle.start_session(self._store, name, self.placement, private=True, attached=True)
        self._session, self._conductor = session, conductor
        atexit.register(self.close)
        try:
            lifecycle.wait_ready(self._store, session, conductor, give_up=give_up, on_look=lifecycle.saying(say))
            self._held = lease.take(self._store, session, self._holder, give_up=give_up)
        except BaseException:
            self.close()
            raise
        return self._held

    def close(self) -> None:
        """End them. Where that takes long, their conductor ends them without us."""
        atexit.unregister(self.close)
        held_ranks, self._held = self._held, None
        conductor, self._conductor = self._conductor, None
        if conductor is not None:
            conductor.send_signal(lifecycle.END)  # first, so that it starts no new ranks for whoever comes next
        if held_ranks is not None:
            held_ranks.release()
        if conductor is None:
            return
        with suppress(subprocess.TimeoutExpired):
            conductor.wait(ENDS)
        session, self._session = self._session, None
        with suppress(WorkshopError):
            if session is not None and conductor.returncode not in (None, 0):  # it was killed, and nobody else comes by
                lifecycle.clean_up(self._store, session)


FREE = 600.0  # seconds that a notebook waits for shared ranks
GONE = "the names on them are gone, so run the cells above again"
LATER = "The next cell has them as soon as they are up"  # of new ranks that nobody waits for


class RanksFailed(WorkshopError):
    """A cell did not end well on all ranks; says on which ones, and why."""


class RanksHolding:
    """HeldRanks ranks, and the ones that were up last."""

    def __init__(self, held_ranks: HeldRanks, check: Callable[[], object]) -> None:
        self.held_ranks = held_ranks
        self.check = check  # raises WorkshopError where they are gone with their session
        self.ranks: Ranks | None = None
        self.bound: Ranks | None = None  # those on which `rank`, `size` and `comm` are bound
        self.anew = False  # whether `comm` may hold what a broken cell has sent

    def look(self, output: Output, stop: Callable[[], bool]) -> Ranks:
        """The ranks that are up now; says when they are new since the last cell. Raises RanksFailed where somebody
        stops waiting for new ones, which start all the same."""
        why = self.held_ranks.why_gone(0.0) if self.ranks is not None else ""
        if self.ranks is not None and not self.ranks.alive:
            output.status = "Waiting for new ranks…"
            output.draw(now=True)
        try:
            now = self.held_ranks.up(stop)
            output.status = ""
        except WorkshopError:
            if stop():
                raise RanksFailed(f"You stopped the cell while ranks were being replaced. {LATER}.") from None
            raise
        if self.ranks is not None and now is not self.ranks:
            reason = f" ({why})" if why else ""
            output.note(f"The ranks were replaced since the last cell{reason}: {GONE}.")
            self.anew = False
        self.ranks = now
        return now


class LeaseHolder:
    """At most one set of ranks of each kind."""

    def __init__(self, session: Session) -> None:
        self.mine: RanksHolding | None = None
        self._session = session
        self._holder = f"{learner.name()}'s notebook"
        self._own = OwnRanks(session.store, placement(session.placement), self._holder)
        self._shared: RanksHolding | None = None

    @property
    def shared_name(self) -> str:
        """The session that everybody shares."""
        return self._session.name

    def ranks(self, output: Output, shared: bool, stop: Callable[[], bool]) -> tuple[RanksHolding, Ranks]:
        """The ranks for a cell, which `output` tells of; started, or waited for, where there are none yet."""
        if shared:
            holding = self.lend(output, stop)
            name = self._session.name
            output.note(f"On the ranks of session {name}, whose queue waits until session.release().")
            return holding, holding.look(output, stop)
        if self._shared is not None:
            self.release()
            output.note(f"The ranks of session {self._session.name} were given back; this cell runs on your own.")
        for last in (False, True):
            holding = self._start(output, stop)
            try:
                return holding, holding.look(output, stop)
            except WorkshopError:  # they went just now
                if last or stop():
                    raise
        raise AssertionError("the loop returns or raises")

    def _start(self, output: Output, stop: Callable[[], bool]) -> RanksHolding:
        """This notebook's own ranks; started where there are none, or none any longer."""
        try:
            held_ranks, lost = self._own.ranks, ""
        except lease.Gone as gone:
            held_ranks, lost = None, str(gone)
        if held_ranks is not None and self.mine is not None:
            return self.mine
        before = "Your ranks are gone, and the names on them. " if lost else ""
        many = f"{count(self._own.placement.ranks, 'rank')} of this notebook's own"
        output.note(f"{before}Starting {many}…")
        began = time.monotonic()

        def say(text: str) -> None:
            output.status = text
            output.draw()

        try:
            held_ranks = self._own.start(say, stop)
        except WorkshopError:
            if stop():
                raise RanksFailed("You stopped the cell while its ranks were starting.") from None
            raise
        output.status = ""
        output.note(f"{before}Started {many} in {time.monotonic() - began:.1f} s.", instead=True)
        self.mine = RanksHolding(held_ranks, self._own.check)
        return self.mine

    def lend(self, output: Output, stop: Callable[[], bool]) -> RanksHolding:
        """The shared session's ranks: the ones that this notebook has already, or newly leased ones."""
        before = ""
        if self._shared is not None:
            try:
                self._shared.held_ranks.check()
                return self._shared
            except lease.Gone as gone:
                before = str(gone).partition(";")[0]
            self.release()
        name = self._session.name
        if self._session.private:
            raise BadInput(f"Session {name} is this notebook's own, nobody shares it; leave out --shared.")

        def look(now: SessionRecord) -> None:
            output.status = f"Waiting for the ranks of session {name} ({now.message or now.state})…"
            output.draw()

        try:
            held_ranks = lease.take(
                self._session.store,
                self._session.record,
                self._holder,
                learner=learner.is_learner(),
                on_look=look,
                give_up=stop,
                timeout=FREE,
            )
            output.status = ""
            if before:
                output.note(f"{before}. They were taken again: {GONE}.")
        except WorkshopError:
            if stop():
                raise RanksFailed(f"You stopped waiting for the ranks of session {name}.") from None
            raise
        atexit.register(self.release)
        self._shared = RanksHolding(held_ranks, held_ranks.check)
        return self._shared

    def release(self) -> None:
        """Give shared ranks back, if we have them."""
        shared, self._shared = self._shared, None
        if shared is not None:
            atexit.unregister(self.release)
            shared.held_ranks.release()

    def close(self) -> None:
        """End this notebook's own ranks, and give shared ones back."""
        self.release()
        self.mine = None
        self._own.close()
