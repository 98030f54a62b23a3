"""Changes to a placement that Open MPI's mapper refuses. The mapper decides which of the changes it accepts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from workshop.core import words
from workshop.core.errors import BadInput
from workshop.core.machines import MachineDescription
from workshop.core.placement import Placement

MOST_CHANGES = 3  # changes to name; more is a menu and no advice

_KEYS = {"hwthread": "unit", "l3cache": "l3"}  # of a machine's units, where they aren't called as the resource
_ORDER = ("hwthread", "core", "l3cache", "numa", "package", "node")  # the smaller ones lie in the larger ones


@dataclass(frozen=True)
class PlacementChange:
    """One thing to change, and the placement that it leads to."""

    words: str  # "4 ranks (--ranks 4)"
    placement: Placement
    kind: str  # the first setting that differs; among changes of the same kind, the first accepted one is the best


def sentence(changes: Sequence[PlacementChange]) -> str | None:
    """Advice of changes that a mapper takes; None where there are none."""
    if not changes:
        return None
    first, *others = [change.words for change in changes]
    return f"Try {first}." if not others else f"Try {', '.join([first, *others[:-1]])} or {others[-1]}."


def changes(placement: Placement, described: MachineDescription) -> list[PlacementChange]:
    """Changes of one or two settings that may make a placement fit a machine, the mildest first."""
    proposals: list[PlacementChange] = []
    for description, values in _ideas(placement, described):
        try:
            changed = Placement.parse(placement.as_json() | dict(values))
        except BadInput:
            continue
        if changed != placement and all(changed != other.placement for other in proposals):
            proposals.append(PlacementChange(description, changed, next(iter(values))))
    return proposals


def _ideas(placement: Placement, described: MachineDescription) -> Iterator[tuple[str, Mapping[str, Any]]]:
    room = _Room(placement, described)
    each, by, cores_each, bound = placement.per_resource, placement.map_by, placement.cores_per_rank, placement.bind_to
    yield from _binding(placement)
    fits = room.cores_each()
    if 0 < fits < cores_each:
        yield f"{words.count(fits, 'core')} for each rank (--cores-per-rank {fits})", {"cores_per_rank": fits}
    if each is not None:
        least = -(-placement.ranks // max(room.places, 1))
        # Every resource that gets any rank is filled up.
        needed = next(number for number in range(least, placement.ranks + 1) if placement.ranks % number == 0)
        if needed != each:
            yield f"{words.count(needed, 'rank')} on each {by} (--per-resource {needed})", {"per_resource": needed}
    if each is not None and placement.ranks % each:
        fewer, more = placement.ranks // each * each, -(-placement.ranks // each) * each
        for number in filter(None, (more, fewer)):
            yield words.ranks(number), {"ranks": number}
    most = room.ranks()
    if 0 < most < placement.ranks:
        rank_count = most - most % (each or 1) or most
        yield words.ranks(rank_count), {"ranks": rank_count}
    slots = room.slots_needed()
    if placement.hosts and slots:
        hosts = [{"name": host.name, "slots": max(slots, host.slots)} for host in placement.hosts]
        host_list = ",".join(f"{host['name']}:{host['slots']}" for host in hosts)
        yield f"{words.count(slots, 'slot')} on each host (--hosts {host_list})", {"hosts": hosts}
    if by not in ("auto", "slot") and (cores_each > 1 or each is not None):
        without = ", without --per-resource" if each is not None else ""
        free = {"map_by": "slot", "per_resource": None}
        yield f"to deal the ranks out over slots (--map-by slot{without})", free
    if cores_each > 1:
        yield "1 core for each rank (--cores-per-rank 1)", {"cores_per_rank": 1}
    for fewer in (most // 2, 1):
        if 0 < fewer < placement.ranks:
            yield words.ranks(fewer), {"ranks": fewer}
    if not placement.oversubscribe:
        yield "to let ranks share cores (--oversubscribe)", {"oversubscribe": True}
    if bound != "none":
        yield "ranks that are not bound (--bind-to none)", {"bind_to": "none"}
        yield (
            "ranks that are not bound and share cores (--bind-to none --oversubscribe)",
            {"bind_to": "none", "oversubscribe": True},
        )
    free = {"map_by": "slot", "per_resource": None, "bind_to": "none"}
    yield "to deal out ranks over slots and not to bind them (--map-by slot --bind-to none)", free
    yield (
        "to deal out ranks over slots that they share, and not to bind them "
        "(--map-by slot --bind-to none --oversubscribe)",
        free | {"oversubscribe": True},
    )


def _binding(placement: Placement) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Where mapping and binding don't go together."""
    by, bound = placement.map_by, placement.bind_to
    if placement.cores_per_rank > 1 and bound not in ("auto", "none", "core", "hwthread"):
        yield "to bind ranks to their cores (--bind-to core)", {"bind_to": "core"}
    if by in _ORDER and bound in _ORDER and _ORDER.index(bound) > _ORDER.index(by):
        yield f"to deal ranks out over what they are bound to (--map-by {bound})", {"map_by": bound}
        yield f"to bind ranks to what they are dealt out over (--bind-to {by})", {"bind_to": by}


class _Room:
    """How much a machine has for a placement. A rule of thumb: slots, shares and packages as Open MPI counts them."""

    def __init__(self, placement: Placement, described: MachineDescription) -> None:
        self.placement = placement
        self.hosts = len(placement.hosts) or 1
        thread = placement.map_by == "hwthread" or placement.bind_to == "hwthread"
        self.places_key = "unit" if thread else "core"  # what is counted where a rank owns several
        if placement.per_resource is not None and placement.map_by != "node":
            key = _KEYS.get(placement.map_by, placement.map_by)
        else:
            key = "package"  # which a rank's cores have to lie in
        per: dict[int, set[int]] = {}
        for row in described.units:
            per.setdefault(row[key], set()).add(row[self.places_key])
        self.shares = [len(cores) for cores in per.values()]  # cores of each such resource on a host
        self.cores = described.count("core")
        self.places = self.hosts * (1 if placement.map_by == "node" else len(self.shares))

    def on_a_host(self, cores_each: int) -> int:
        """Ranks of so many cores that find room on one host, apart from slots."""
        fitting = [share // cores_each for share in self.shares]
        each = self.placement.per_resource
        if each is None:
            return sum(fitting)
        if self.placement.map_by == "node":
            return min(each, sum(fitting))
        return sum(min(each, fits) for fits in fitting)

    def slots(self) -> list[int]:
        return [host.slots for host in self.placement.hosts] or [self.cores]

    def ranks(self) -> int:
        """Ranks that find room on all hosts."""
        cores_each = self.placement.cores_per_rank
        return sum(min(self.on_a_host(cores_each), slots) for slots in self.slots())

    def cores_each(self) -> int:
        """The most cores for each rank with which all ranks find room; 0: there are none."""
        for cores in range(self.placement.cores_per_rank - 1, 0, -1):
            if sum(min(self.on_a_host(cores), slots) for slots in self.slots()) >= self.placement.ranks:
                return cores
        return 0

    def slots_needed(self) -> int:
        """Slots that each host needs for its share of the ranks, if it has room for it; 0 where it hasn't."""
        share = -(-self.placement.ranks // self.hosts)
        return share if share <= self.on_a_host(self.placement.cores_per_rank) else 0
