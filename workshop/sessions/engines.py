"""The set of running engines, which are the ranks of one MPI world.

`ExitWatcher` tells which of their processes on this machine have ended, which one first, and how. A launcher that ends
all ranks when one has died can't always tell which rank that was: MPICH names the one it collects first. The kernel
wakes us when the first process ends, before the launcher ends another one.
"""

from __future__ import annotations

import os
import select
import signal
import socket
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil

from workshop import mpi
from workshop.core.errors import WorkshopError
from workshop.core.memory import Gauge
from workshop.core.placement import Placement
from workshop.mpi.implementations import implementation
from workshop.mpi.openmpi import Death, passing


class EnginesFailed(WorkshopError):
    """Engines did not start, and another attempt would fail, too: the MPI refuses them. The text has the MPI's own
    words."""


class RanksNotStarted(EnginesFailed):
    """Ranks died while they were starting, or were late: another attempt may succeed."""


class OutOfMemory(EnginesFailed):
    """The kernel has ended a rank that was starting, for want of memory; named as `errors.OUT_OF_MEMORY`."""


class EngineSet:
    """The set of running engines."""

    def __init__(self, placement: Placement, set_id: str, tag: str, launcher: Any) -> None:
        self.placement = placement
        self.mpi = mpi.module_of(placement.mpi)
        self.title = implementation(placement.mpi).title
        self.set_id = set_id
        self.tag = tag
        self.launcher = launcher
        self.died = threading.Event()
        self.rank_map: dict[str, Any] = {}
        self.machine: dict[str, Any] = {}
        self.exit_watcher: ExitWatcher | None = None
        self.parent: psutil.Process | None = None  # from which they were forked, if they were
        self.tolerant = False  # whether they can go on after one of them has died
        self.trained = False  # whether what training needs was imported before they were forked
        self._gauge = Gauge()
        self._killed = self._gauge.kills()
        self._exit_code: int | None = None
        launcher.on_stop(self._ended)

    def _ended(self, data: Mapping[str, Any]) -> None:
        self._exit_code = data.get("exit_code")
        self.died.set()

    @property
    def local(self) -> dict[int, int]:
        """The processes of this machine's ranks, by rank."""
        here = socket.gethostname()
        return {report["rank"]: report["pid"] for report in self.rank_map.get("ranks", []) if report["host"] == here}

    @property
    def lost(self) -> bool:
        """Whether the kernel has reported the end of a rank, where all ranks are on this machine."""
        return self.exit_watcher is not None and self.exit_watcher.first is not None

    def gone(self) -> dict[int, int | None]:
        """The ranks of this machine that have ended, in the order of their ends, with their signals where these are
        known."""
        ended = dict(self.exit_watcher.gone) if self.exit_watcher is not None else {}
        ranks = {report["pid"]: report["rank"] for report in self.rank_map.get("ranks", [])}
        return {ranks[pid]: number for pid, number in ended.items() if pid in ranks}

    @property
    def output(self) -> str:
        """The output of mpirun and the ranks, once they have ended; ipyparallel removes the file then."""
        return self.launcher.get_output(remove=False) if self.died.is_set() else ""

    def death(self) -> Death | None:
        """The rank that died first; None where the launcher has ended and names none.

        Where a launcher names a single process, it may have ended that process itself. So exits that this machine
        noticed count for more, where all ranks are on it; elsewhere no rank is blamed.
        """
        first = self.exit_watcher.first if self.exit_watcher is not None else None
        died: Death | None = self.mpi.death(self.output)
        if died is not None and died.rank in self.local:
            died = replace(died, pid=self.local[died.rank])  # the launcher may have started but the rank's stub
        if first is None or (self.died.is_set() if died is None else died.rank is not None):
            return died
        pid, number = first
        number = number or (died.signal if died is not None else None)
        rank = next((report["rank"] for report in self.rank_map.get("ranks", []) if report["pid"] == pid), None)
        host = died.host if died is not None else socket.gethostname()
        return Death(rank, pid, host, number) if number is not None else None

    def how(self) -> str:
        """How the launcher of the ranks has ended, as the end of a sentence: in its own words where it gave a
        reason."""
        if not self.died.is_set():
            return "has not noticed that a rank ended"
        code = self._exit_code or 0
        number = -code if code < 0 else code - 128  # as Python tells it, as shells do
        if self.mpi.refuses(self.output):
            return f"ended: {self.mpi.refusal(self.output)}"
        if number in signal.valid_signals():
            return f"was ended by {signal.Signals(number).name}"
        return f"ended with exit code {code}, without a word"

    def not_started(self) -> EnginesFailed:
        """The error for ranks that have ended while they were starting: a rank died, a rank gave up, or the MPI
        refused."""
        died = self.death()
        if died is None and (ending := self.mpi.early_exit(self.output)):
            rank, code = ending
            return RanksNotStarted(f"rank {rank} ended with exit code {code} while the ranks were starting")
        if died is None:
            words = self.mpi.refusal(self.output)
            if self.mpi.refuses(self.output):
                kind = RanksNotStarted if passing(words) else EnginesFailed
                return kind(f"{self.title} {mpi.REFUSES}\n{words}")
            return RanksNotStarted(f"the launcher of {self.title} {self.how()} while the ranks were starting")
        who = f"process {died.pid}" if died.rank is None else f"rank {died.rank}"
        if died.signal == signal.SIGKILL and self._gauge.kills() > self._killed:
            return OutOfMemory(
                f"the kernel ended {who} (on {died.host}) for want of memory while {self.placement.ranks} ranks "
                "were starting; take fewer ranks"
            )
        return RanksNotStarted(
            f"{who} (on {died.host}) was ended by signal {died.signal} while the ranks were starting"
        )


class ExitWatcher:
    """Watches processes until all have ended."""

    def __init__(self, pids: Iterable[int], ended: Callable[[int], None] = lambda pid: None) -> None:
        """`ended` is called with each process that has ended, in a thread of its own."""
        self.gone: dict[int, int | None] = {}  # processes in the order of their ends, with signals that are known
        self._watched: dict[int, int] = {}
        self._ended = ended
        for pid in pids:
            try:
                self._watched[os.pidfd_open(pid)] = pid
            except ProcessLookupError:  # it has ended already
                self.gone[pid] = None
        threading.Thread(target=self._watch, name="exit_watcher", daemon=True).start()

    @property
    def first(self) -> tuple[int, int | None] | None:
        """The process that ended first, with its signal where that is known; None while all live."""
        return next(iter(self.gone.items()), None)

    def _watch(self) -> None:
        # Unlike poll, epoll tells events in the order in which they happened, however late it is asked.
        with select.epoll() as ends:
            for descriptor in self._watched:
                ends.register(descriptor, select.EPOLLIN)
            for pid in self.gone:
                self._ended(pid)
            while self._watched:
                for descriptor, _ in ends.poll():
                    ends.unregister(descriptor)
                    pid = self._watched.pop(descriptor)
                    self.gone[pid] = _signal(pid)
                    os.close(descriptor)
                    self._ended(pid)


def _signal(pid: int) -> int | None:
    """The signal that ended a process that nobody has collected yet; None where there was none, or it isn't known."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    number = int(fields[-1]) & 0x7F  # the status as waitpid has it, proc(5)
    return number if number in signal.valid_signals() else None
