"""The ranks of a notebook's cells: a private session, which the first cell starts and which ends with the kernel,
however that ends. Its conductor replaces ranks that die; only this process calls functions on them."""

from __future__ import annotations

import atexit
import os
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress

from workshop.core import processes
from workshop.core.errors import WorkshopError
from workshop.core.placement import Placement
from workshop.core.words import capital, count
from workshop.notebook.call_monitor import Ranks, Stop, Who, connected, who
from workshop.notebook.output import Output
from workshop.sessions import lifecycle
from workshop.store.records import SessionRecord
from workshop.store.store import Store

LEAST = 2  # ranks that a notebook has where its session has as many, on whatever machine
ENDS = 4.0  # seconds for their end: Jupyter gives a kernel five
UP = 90.0  # seconds within which new ranks must be up
NOTICED = 5.0  # seconds within which a conductor has noticed that ranks are gone, and said why
LOOK = 0.1  # seconds between looks at the store
GONE = "the names on them are gone, so run the cells above again"
LATER = "The next cell has them as soon as they are up"  # of new ranks that nobody waits for


class RanksFailed(WorkshopError):
    """A cell did not end well on all ranks; says on which ones, and why."""


def end(conductor: subprocess.Popen[bytes]) -> None:
    """End a private session. Where that takes longer than there is time, its conductor ends it by itself."""
    conductor.send_signal(lifecycle.END)
    with suppress(subprocess.TimeoutExpired):
        conductor.wait(ENDS)


class OwnRanks:
    """At most one private session at a time, and the line to its ranks."""

    def __init__(self, store: Store, session: Placement) -> None:
        """As many ranks as the session has that the notebook is attached to, but no more than this machine has cores,
        and with the same MPI."""
        cores = len(os.sched_getaffinity(0))
        self.line: Ranks | None = None  # to the ranks that were up last
        self.bound: Ranks | None = None  # those on which `rank`, `size` and `comm` are bound
        self.anew = False  # whether `comm` may hold what a broken cell has sent
        self._store = store
        self._placement = Placement(ranks=min(session.ranks, max(cores, LEAST)), mpi=session.mpi)
        self._session: SessionRecord | None = None
        self._conductor: subprocess.Popen[bytes] | None = None
        self._who: Who = ()  # the ranks that were up last
        self._told: Ranks | None = None  # the ranks of which a cell knows
        self._stuck = False  # whether they were ended because they were stuck

    def ready(self, output: Output, stop: Callable[[], bool]) -> Ranks:
        """The ranks for a cell; started where there are none, or none any longer. `output` tells of it, also where they
        are new since the last cell. Raises RanksFailed where somebody stops the wait, WorkshopError where none come."""
        before = ""
        if self._conductor is not None and self._conductor.poll() is not None:
            before = "Your ranks are gone, and the names on them. "
            self.close()
        if self._conductor is None:
            self._start(output, stop, before)
        elif self.line is None or not self.line.alive:
            output.status = "Waiting for new ranks…"
            output.draw(now=True)
        try:
            line = self.up(stop)
        except WorkshopError:
            if not stop():
                raise
            raise RanksFailed(f"You stopped the cell while ranks were being replaced. {LATER}.") from None
        output.status = ""
        if self._told not in (None, line):
            why = "ranks were stuck in a cell" if self._stuck else self._record().message
            output.note(f"The ranks were replaced since the last cell{f' ({why})' if why else ''}: {GONE}.")
            self.anew = False
        self._told, self._stuck = line, False
        return line

    def _start(self, output: Output, stop: Callable[[], bool], before: str) -> None:
        many = f"{count(self._placement.ranks, 'rank')} of this notebook's own"
        output.note(f"{before}Starting {many}…")
        began = time.monotonic()

        def say(text: str) -> None:
            output.status = text
            output.draw()

        name = lifecycle.private_name("cells")
        self._session, self._conductor = lifecycle.start_session(
            self._store, name, self._placement, private=True, attached=True, cells=True
        )
        atexit.register(self.close)
        try:
            on_look = lifecycle.saying(say)
            lifecycle.wait_ready(self._store, self._session, self._conductor, give_up=stop, on_look=on_look)
            self.up(stop)
        except BaseException as error:
            self.close()
            if isinstance(error, WorkshopError) and stop():
                raise RanksFailed("You stopped the cell while its ranks were starting.") from None
            raise
        output.status = ""
        output.note(f"{before}Started {many} in {time.monotonic() - began:.1f} s.", instead=True)

    def _record(self) -> SessionRecord:
        assert self._session is not None, "started before"
        return self._store.session(self._session.id)

    def check(self) -> None:
        """Raises WorkshopError where the ranks are gone for good."""
        if self._conductor is None or self._conductor.poll() is not None:
            failed = self._session is not None and (now := self._record()).state == "failed" and now.message.rstrip(".")
            why = f" ({failed})" if failed else ""
            gone = f"The session of this notebook's ranks has died{why}"
            raise WorkshopError(f"{gone}; run the cell again to get new ones.")

    def up(self, give_up: Callable[[], bool] = lambda: False) -> Ranks:
        """A line to the running ranks, a new object after they were replaced. Waits while ranks start, until `give_up`.
        Raises WorkshopError where no ranks will come, and after `give_up`."""
        deadline = time.monotonic() + UP
        while True:
            self.check()
            session = self._record()
            if session.state == "ready" and who(session) != self._who:
                self._disconnect()
                self.line, self._who = connected(session), who(session)
            if session.state == "ready" and self.line is not None and self.line.alive:
                return self.line
            if give_up():
                raise WorkshopError("Waiting for new ranks was given up.")
            if time.monotonic() > deadline:
                self.close()
                how = f"within {UP:g} s ({session.message or session.state})"
                raise WorkshopError(f"This notebook had no ranks {how}; run the cell again to start others.")
            time.sleep(LOOK)

    def replace(self, died: bool, output: Output) -> list[str]:
        """Replace ranks that are stuck, or have `died`; all names on them are lost. Returns a sentence on it. From now
        on, the stop button ends the wait for the new ranks."""
        began = time.monotonic()
        lines = []
        with Stop() as stop:  # from before anybody reads that they are started
            output.status = "Starting new ranks…"
            output.draw(now=True)
            try:
                if died:
                    lines = [f"{capital(self._why_gone(stop) or 'the process of a rank has ended').rstrip('.')}."]
                else:
                    self._end_stuck()
                line = self.up(stop)
            except WorkshopError as gone:  # with all of their session, or nobody waits for them
                stopped = f"You stopped waiting for new ranks. {LATER}; {GONE.partition(',')[0]}."
                return [*lines, stopped if stop() else str(gone)]
        self._told, self._stuck, self.anew = line, False, False
        all_of = f"All {count(line.size, 'rank')} were replaced in {time.monotonic() - began:.1f} s"
        return [*lines, f"{all_of}: {GONE}."]

    def _why_gone(self, give_up: Callable[[], bool]) -> str:
        """Why the ranks that were up last are gone, in one sentence without its full stop; "" where nobody has said so
        in time, or until `give_up`. Raises WorkshopError where there will be none."""
        deadline = time.monotonic() + NOTICED
        while time.monotonic() < deadline and not give_up():
            self.check()
            if (session := self._record()).state == "restarting" or who(session) != self._who:
                return session.message
            time.sleep(LOOK)
        return ""

    def _end_stuck(self) -> None:
        """End ranks in any state; their conductor starts others."""
        self._stuck = True
        tag = processes.session_tag(self._record().id)
        for _, _, pid in self._who:
            processes.kill(pid, processes.TAG, tag)
        self._disconnect()

    def _disconnect(self) -> None:
        line, self.line = self.line, None
        if line is not None:
            line.close()

    def close(self) -> None:
        """End them. Where that takes long, their conductor ends them without us."""
        atexit.unregister(self.close)
        self._disconnect()
        self._who, self._told, self.anew = (), None, False
        if self._conductor is not None and self._session is not None:
            end(self._conductor)
            with suppress(WorkshopError):
                if self._conductor.returncode not in (None, 0):  # it was killed, and nobody else comes by
                    lifecycle.clean_up(self._store, self._session)
        self._session = self._conductor = None
