"""Looks after the memory of a run's ranks on this machine, and ends them before it runs out.

A thread of its own, which needs neither the store nor any other process: both may be slow where memory is short. A look
takes some 40 µs for each rank. It comes twice a second, once a second while a run is measured, and sooner where the
ranks could fill what is left before that.

`judge` says when a run takes more memory than there is, and in which words. A run is ended while there is still some
left: the kernel would end somebody, or swap, and with that take the conductor, the dashboard and everybody else's
programs along.
"""

from __future__ import annotations

import os
import signal
import socket
import threading
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from types import TracebackType

from workshop.core import memory
from workshop.core.memory import SPARE, MemoryUsage, help_for, size
from workshop.sessions.channel import HostMemory

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
        who, usage = "a process of the session" if rank is None else f"rank {rank}", self.private_bytes
        words = f"the kernel of {self._host} ended {who} for want of memory"
        if not usage:
            return Shortage(rank, self._host, f"{words}; {help_for(2)}")
        words += f": when last looked at, {_who(usage, min(place.total for place in self._gauge.read()))}"
        return Shortage(_largest(usage) if rank is None else rank, self._host, f"{words}; {help_for(len(usage))}")

    def _watch(self) -> None:
        ends = {}
        for rank, pid in self._ranks.items():
            with suppress(ProcessLookupError):  # it has ended
                ends[rank] = os.pidfd_open(pid)  # which means that very process, also when its number is another's
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
        self.found = judge(self._host, usage, places, self._limit)
        if self.found is not None:
            for rank in sorted(ends, key=lambda rank: -usage.get(rank, 0)):
                with suppress(ProcessLookupError):
                    signal.pidfd_send_signal(ends[rank], signal.SIGKILL)
        return min(max(room(usage, places, self._limit) / self._speed, SOONEST), self._longest)


# Who has less than half of what is used must leave only half as much. So of two sessions the larger one gives way.
MODEST = 0.5


@dataclass(frozen=True)
class Shortage:
    """Why a run can't go on: the rank that had most, its host, and the sentence."""

    rank: int | None
    host: str
    words: str


def room(usage: Mapping[int, int], places: Iterable[MemoryUsage], limit: int | None) -> float:
    """How many more bytes the ranks may take; below zero where they have too many already. `usage` has the bytes of
    each rank, `places` the memory of the machine and its groups, `limit` the bytes for all ranks together."""
    ranks_total = sum(usage.values())
    free = [place.available - _spare(place, ranks_total) * place.total for place in places]
    return min([*free, *([limit - ranks_total] if limit is not None else [])])


def judge(host: str, usage: Mapping[int, int], places: Iterable[MemoryUsage], limit: int | None) -> Shortage | None:
    """The memory that has run out on a host, if any."""
    ranks_total = sum(usage.values())
    if not usage:
        return None
    if limit is not None and ranks_total > limit:
        sentence = (
            f"the ranks took more memory than WORKSHOP_MEMORY allows: {_who(usage, limit)}; {help_for(len(usage))}"
        )
        return Shortage(_largest(usage), host, f"{sentence}, or set it higher")
    for place in places:
        if room(usage, [place], None) < 0:
            return Shortage(_largest(usage), host, _ran_out(host, usage, place))
    return None


def elsewhere(hosts: Mapping[str, HostMemory], here: str) -> Shortage | None:
    """A host other than `here` without memory, by its ranks' last report."""
    for name, host in hosts.items():
        if name != here and (
            shortage := judge(name, host.private_bytes, [MemoryUsage(host.total, host.available)], None)
        ):
            return shortage
    return None


def refused(rank: int | None, host: str, ranks: int) -> Shortage:
    """The message for a rank that gave up because C++ got no memory."""
    who = "a rank" if rank is None else f"rank {rank}"
    return Shortage(rank, host, f"{who} could not get the memory that it asked for; {help_for(ranks)}")


def _ran_out(host: str, usage: Mapping[int, int], place: MemoryUsage) -> str:
    whose = f"that {host} allows this session (the limit of its container or job)" if place.group else f"of {host}"
    others = place.used - sum(usage.values())
    if _spare(place, sum(usage.values())) == SPARE:
        return f"the memory {whose} ran out: {_who(usage, place.total)}; {help_for(len(usage))}"
    return (
        f"the memory {whose} ran out: {_who(usage, place.total)}, of which other programs had {size(others)}; end some "
        f"of those, or {help_for(len(usage))}"
    )


def _spare(place: MemoryUsage, ranks_total: int) -> float:
    return SPARE if 2 * ranks_total >= place.used else SPARE * MODEST


def _largest(usage: Mapping[int, int]) -> int:
    return max(usage, key=lambda rank: usage[rank])


def _who(usage: Mapping[int, int], total: int) -> str:
    rank = _largest(usage)
    if len(usage) == 1:
        return f"rank {rank}, the only one, had {size(usage[rank])} of {size(total)}"
    return (
        f"rank {rank} had most, {size(usage[rank])}, and all {len(usage)} together {size(sum(usage.values()))} of "
        f"{size(total)}"
    )
