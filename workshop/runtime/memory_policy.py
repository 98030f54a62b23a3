"""When a run takes more memory than there is, and what to say of it. Pure.

A run is ended while there is still some left: the kernel would end somebody, or swap, and with that take the conductor,
the dashboard and everybody else's programs along.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from workshop.core.memory import SPARE, MemoryUsage, help_for, size
from workshop.runtime.channel import HostMemory

# Who has less than half of what is used must leave only half as much. So of two sessions the larger one gives way.
MODEST = 0.5


@dataclass(frozen=True)
class Shortage:
    """Why a run can't go on: the rank that had most, its host, and the sentence."""

    rank: int | None
    host: str
    words: str


def room(held: Mapping[int, int], places: Iterable[MemoryUsage], limit: int | None) -> float:
    """How many bytes the ranks may still take before they have too many; below zero: they have. `held` are the bytes of
    each rank, `places` what there is, `limit` what somebody has set for all ranks together."""
    own = sum(held.values())
    free = [place.available - _spare(place, own) * place.total for place in places]
    return min([*free, *([limit - own] if limit is not None else [])])


def judge(host: str, held: Mapping[int, int], places: Iterable[MemoryUsage], limit: int | None) -> Shortage | None:
    """The memory that has run out on a host, if any."""
    own = sum(held.values())
    if not held:
        return None
    if limit is not None and own > limit:
        told = f"the ranks took more memory than WORKSHOP_MEMORY allows: {_who(held, limit)}; {help_for(len(held))}"
        return Shortage(_largest(held), host, f"{told}, or set it higher")
    for place in places:
        if room(held, [place], None) < 0:
            return Shortage(_largest(held), host, _ran_out(host, held, place))
    return None


def elsewhere(hosts: Mapping[str, HostMemory], here: str) -> Shortage | None:
    """A host other than `here` without memory, by its ranks' last report."""
    for name, told in hosts.items():
        if name != here and (found := judge(name, told.held, [MemoryUsage(told.total, told.available)], None)):
            return found
    return None


def killed(host: str, rank: int | None, held: Mapping[int, int], place: MemoryUsage | None = None) -> Shortage:
    """What to say where the kernel was faster. `held` are the bytes of each rank when they were last looked at, and
    `place` is what there was, where that is known."""
    who = "a process of the session" if rank is None else f"rank {rank}"
    if not held or place is None:
        return Shortage(rank, host, f"the kernel of {host} ended {who} for want of memory; {help_for(2)}")
    told = f"the kernel of {host} ended {who} for want of memory: when last looked at, {_who(held, place.total)}"
    return Shortage(_largest(held) if rank is None else rank, host, f"{told}; {help_for(len(held))}")


def refused(rank: int | None, host: str, ranks: int) -> Shortage:
    """What to say of a rank that gave up, since C++ got no memory."""
    who = "a rank" if rank is None else f"rank {rank}"
    return Shortage(rank, host, f"{who} could not get the memory that it asked for; {help_for(ranks)}")


def _ran_out(host: str, held: Mapping[int, int], place: MemoryUsage) -> str:
    whose = f"that {host} allows this session (the limit of its container or job)" if place.group else f"of {host}"
    others = place.used - sum(held.values())
    if _spare(place, sum(held.values())) == SPARE:
        return f"the memory {whose} ran out: {_who(held, place.total)}; {help_for(len(held))}"
    return (
        f"the memory {whose} ran out: {_who(held, place.total)}, of which other programs had {size(others)}; end some "
        f"of those, or {help_for(len(held))}"
    )


def _spare(place: MemoryUsage, own: int) -> float:
    return SPARE if 2 * own >= place.used else SPARE * MODEST


def _largest(held: Mapping[int, int]) -> int:
    return max(held, key=lambda rank: held[rank])


def _who(held: Mapping[int, int], total: int) -> str:
    rank = _largest(held)
    if len(held) == 1:
        return f"rank {rank}, the only one, had {size(held[rank])} of {size(total)}"
    return (
        f"rank {rank} had most, {size(held[rank])}, and all {len(held)} together {size(sum(held.values()))} of "
        f"{size(total)}"
    )
