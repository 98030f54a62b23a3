"""Looks after the memory of a run's ranks on this machine, and ends them before it runs out.

A thread of its own, which needs neither the store nor any other process: both may be slow where memory is short. A look
takes some 40 µs for each rank. It comes twice a second, once a second while a run is measured, and sooner where the
ranks could fill what is left before that.
"""

from __future__ import annotations

import os
import signal
import socket
import threading
from collections.abc import Mapping
from types import TracebackType

from workshop.core import memory
from workshop.sessions import memory_policy
from workshop.sessions.memory_policy import Shortage

EVERY = 0.5  # seconds between looks
MEASURED = 1.0  # seconds between them while a run is measured
SOONEST = 0.05  # seconds between them where there is hardly any room left
FASTEST = 2 << 30  # bytes that a core can fill in a second


class MemoryMonitor:
    """Watches some processes as long as its block lasts. `found` says why it has ended them."""

    def __init__(self, ranks: Mapping[int, int], limit: int | None, measured: bool = False) -> None:
        """`ranks` are the processes by rank, `limit` the bytes that all together may have."""
        self.found: Shortage | None = None
        self.private_bytes: dict[int, int] = {}  # bytes of each rank when it was last looked at
        self._ranks = dict(ranks)
        self._limit = limit
        self._longest = MEASURED if measured else EVERY
        self._speed = FASTEST * min(len(os.sched_getaffinity(0)), max(len(ranks), 1))
        self._host = socket.gethostname()
        self._gauge = memory.Gauge()
        self._killed = self._gauge.kills()
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="memory-monitor", daemon=True)

    def __enter__(self) -> MemoryMonitor:
        if self._ranks:
            self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._closing.set()
        if self._ranks:
            self._thread.join(2.0)

    def killed(self, rank: int | None) -> Shortage | None:
        """A sentence on a rank (None: an unknown one) that the kernel has ended by SIGKILL for want of memory; None
        where the kernel has ended no process since the beginning."""
        if self._gauge.kills() <= self._killed:
            return None
        place = min(self._gauge.read(), key=lambda place: place.total)
        return memory_policy.killed(self._host, rank, self.private_bytes, place)

    def _watch(self) -> None:
        ends = {}
        for rank, pid in self._ranks.items():
            try:
                ends[rank] = os.pidfd_open(pid)  # which means that very process, also when its number is another's
            except OSError:
                continue  # it has ended, or the kernel is older than this call: then its cluster ends it
        try:
            pause = 0.0
            while not self._closing.wait(pause) and self.found is None:
                pause = self._look(ends)
        finally:
            for end in ends.values():
                os.close(end)

    def _look(self, ends: Mapping[int, int]) -> float:
        """Returns the seconds until the next look."""
        readings = {rank: memory.private_bytes(pid) for rank, pid in self._ranks.items()}
        usage = {rank: count for rank, count in readings.items() if count}
        if not usage and self.private_bytes:
            return self._longest  # all ranks have ended, and the memory that is in use is of other programs
        if all(readings.values()):  # not of those that are left when one has ended
            self.private_bytes = usage
        places = self._gauge.read()
        self.found = memory_policy.judge(self._host, usage, places, self._limit)
        if self.found is not None:
            for rank in sorted(ends, key=lambda rank: -usage.get(rank, 0)):
                try:
                    signal.pidfd_send_signal(ends[rank], signal.SIGKILL)
                except ProcessLookupError:
                    continue
        return min(max(memory_policy.room(usage, places, self._limit) / self._speed, SOONEST), self._longest)
