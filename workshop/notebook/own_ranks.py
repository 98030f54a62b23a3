"""The ranks of this notebook's own: a private session that is started when a cell first wants ranks, and ends with the
kernel however that ends."""

from __future__ import annotations

import atexit
import os
import subprocess
from collections.abc import Callable
from contextlib import suppress

from workshop.core.errors import WorkshopError
from workshop.core.placement import Placement
from workshop.runtime import lease, lifecycle
from workshop.runtime.lease import HeldRanks
from workshop.store.records import SessionRecord
from workshop.store.store import Store

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
