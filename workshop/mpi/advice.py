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
_ORDER = ("hwthread", "core", "l3cache", "numa", "package", "node")  # the smaller ones lie in the larger ones


@dataclass(frozen=True)
class PlacementChange:
    """One thing to change, and the placement that it leads to."""

    words: str  # "4 ranks (--ranks 4)"
    placement: Placement
    kind: str  # the first setting that differs; among changes of the same kind, the first accepted one is the best


def sentence(changes: Sequence[PlacementChange]) -> str | None:
    """Advice of changes that a mapper takes; None where there are none."""
    return f"Try {words.listed((change.words for change in changes), 'or')}." if changes else None


def changes(placement: Placement, described: MachineDescription) -> Iterator[PlacementChange]:
    """Changes of one or two settings that may make a placement fit a machine, the mildest first."""
    for description, values in _ideas(placement, described):
        try:
            changed = Placement.parse(placement.as_json() | dict(values))
        except BadInput:
            continue
        if changed != placement:
            yield PlacementChange(description, changed, next(iter(values)))


def _ideas(placement: Placement, described: MachineDescription) -> Iterator[tuple[str, Mapping[str, Any]]]:
    ranks, each, by = placement.ranks, placement.per_resource, placement.map_by
    cores_each, bound, hosts = placement.cores_per_rank, placement.bind_to, len(placement.hosts) or 1
    if cores_each > 1 and bound not in ("auto", "none", "core", "hwthread"):
        yield "to bind ranks to their cores (--bind-to core)", {"bind_to": "core"}
    if by in _ORDER and bound in _ORDER and _ORDER.index(bound) > _ORDER.index(by):
        yield f"to deal ranks out over what they are bound to (--map-by {bound})", {"map_by": bound}
        yield f"to bind ranks to what they are dealt out over (--bind-to {by})", {"bind_to": by}
    packages = hosts * described.count("package")  # a rank's cores lie in one of them
    of_package = described.cores // described.count("package")
    fits = min(hosts * described.cores // ranks, of_package)
    if 0 < fits < cores_each:
        yield f"{words.count(fits, 'core')} for each rank (--cores-per-rank {fits})", {"cores_per_rank": fits}
    most = packages * (of_package // cores_each)
    for number in [-(-ranks // each) * each, ranks // each * each] if each else []:
        yield words.ranks(number), {"ranks": number}
    for number in (most, most // 2, 1):
        if 0 < number < ranks:
            yield words.ranks(number), {"ranks": number}
    if placement.hosts:
        slots = -(-ranks // hosts)
        enough = [{"name": host.name, "slots": max(slots, host.slots)} for host in placement.hosts]
        host_list = ",".join(f"{host['name']}:{host['slots']}" for host in enough)
        yield f"{words.count(slots, 'slot')} on each host (--hosts {host_list})", {"hosts": enough}
    yield "to let ranks share cores (--oversubscribe)", {"oversubscribe": True}
    yield "ranks that are not bound (--bind-to none)", {"bind_to": "none"}
    free = {"map_by": "slot", "per_resource": None, "bind_to": "none", "oversubscribe": True}
    options = "--map-by slot --bind-to none --oversubscribe"
    yield f"to deal out ranks over slots that they share, and not to bind them ({options})", free
