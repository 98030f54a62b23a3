"""When a run takes more memory than there is, and what to say of it. Pure.

A run is ended while there is still some left: the kernel would end somebody, or swap, and with that take the conductor,
the dashboard and everybody else's programs along.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from workshop.core.memory import SPARE, MemoryUsage, help_for, size
from workshop.sessions.channel import HostMemory

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


def killed(host: str, rank: int | None, usage: Mapping[int, int], place: MemoryUsage | None = None) -> Shortage:
    """The message for a rank that the kernel has ended before we did. `usage` has the bytes of each rank at the last
    look, `place` the memory of the machine or the group, where that is known."""
    who = "a process of the session" if rank is None else f"rank {rank}"
    if not usage or place is None:
        return Shortage(rank, host, f"the kernel of {host} ended {who} for want of memory; {help_for(2)}")
    sentence = f"the kernel of {host} ended {who} for want of memory: when last looked at, {_who(usage, place.total)}"
    return Shortage(_largest(usage) if rank is None else rank, host, f"{sentence}; {help_for(len(usage))}")


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
