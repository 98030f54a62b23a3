"""Facts of an MPI's placing that need no mapper: the ranks of each host, and the variables of Intel MPI's pinning."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from workshop.core import words
from workshop.core.machines import KEYS, MachineDescription
from workshop.core.placement import Placement
from workshop.mpi import intelmpi


def dealt_out(placement: Placement) -> list[list[int]]:
    """The ranks of each host, as MPICH's and Intel MPI's launchers distribute them. A host gets as many as it has slots
    (mapping by node: `per_resource`, or one), then the next one; after the last host the first one follows."""
    slots = [host.slots for host in placement.hosts] or [placement.ranks]
    if placement.map_by == "node" and placement.hosts:
        slots = [placement.per_resource or 1] * len(slots)
    dealt: list[list[int]] = [[] for _ in slots]
    rank = 0
    while rank < placement.ranks:
        for host_ranks, slot in zip(dealt, slots, strict=True):
            last = min(rank + slot, placement.ranks)
            host_ranks += range(rank, last)
            rank = last
    return dealt


def same_on_hosts(placement: Placement, described: MachineDescription, rank_map: Mapping[str, Any]) -> bool:
    """Whether Hydra's rules put the ranks of each host where the rank map has them."""
    ranks: dict[str, list[list[int]]] = {}
    for report in rank_map["ranks"]:
        ranks.setdefault(report["host"], []).append(report["units"])
    return all(units == _on_host(placement, described, len(units)) for units in ranks.values())


def _on_host(placement: Placement, described: MachineDescription, count: int) -> list[list[int]]:
    """The units of each of a host's ranks: they are dealt out over `map_by`, else over what they are bound to, and in
    each such resource begin again behind the last place."""
    bound = placement.binding(described.cores)
    rows = sorted(described.units, key=lambda row: (row["package"], row["core"], row["unit"]))
    if bound == "none":
        return [sorted(row["unit"] for row in rows)] * count
    by = bound if placement.map_by in ("auto", "slot", "node") else placement.map_by
    places: dict[int, dict[int, list[int]]] = {}  # of each resource: the units of each place in it
    for row in rows:
        key, around = (KEYS.get(resource, resource) for resource in (bound, by))
        places.setdefault(row[around], {}).setdefault(row[key], [])
    for row in rows:
        for place in places.values():
            if row[key] in place:
                place[row[key]].append(row["unit"])
    each = placement.cores_per_rank if bound == "core" else 1
    groups = [list(place.values()) for place in places.values()]
    if by == bound:
        groups = [[units for group in groups for units in group]]
    rank_places = [[group[place : place + each] for place in range(0, len(group) - each + 1, each)] for group in groups]
    if not all(rank_places):
        return []
    chosen = [
        rank_places[rank % len(rank_places)][rank // len(rank_places) % len(rank_places[rank % len(rank_places)])]
        for rank in range(count)
    ]
    return [sorted(unit for units in place for unit in units) for place in chosen]


def crowded(placement: Placement, described: MachineDescription, rank_map: Mapping[str, Any] | None) -> str | None:
    """A warning where each rank has more threads than its binding has cores; None where it hasn't, or where the binding
    isn't known."""
    setting = placement.rank_environment()["OMP_NUM_THREADS"]
    threads = int(setting) if setting.isascii() and setting.isdigit() else placement.threads_per_rank
    bound = placement.bind_to
    if rank_map:
        cores = min(len(report["cores"]) for report in rank_map["ranks"])
    elif bound == "auto" and any(name.startswith("I_MPI_PIN") for name in placement.environment):
        return None
    elif bound in ("auto", "core", "hwthread"):
        cores = placement.cores_per_rank
    else:
        each = described.count(bound) if bound != "none" else 1
        cores = described.cores // each
    if threads <= cores:
        return None
    return (
        f"Each rank has {words.count(threads, 'thread')} on {words.count(cores, 'core')}, so its threads take turns; "
        f"OMP_NUM_THREADS should be at most {cores}."
    )


def hosts_in_words(placement: Placement) -> str:
    """A sentence on the ranks of each host, with a blank before it; empty where no host has a name."""
    dealt = zip([host.name for host in placement.hosts], dealt_out(placement), strict=False)
    where = [f"{words.numbered('rank', host_ranks)} on {name}" for name, host_ranks in dealt if host_ranks]
    return f" By the documented rules: {words.listed(where)}." if where else ""


def pins(placement: Placement, described: MachineDescription) -> Mapping[str, str]:
    """The variables of pinning that Intel MPI gets for a placement. Raises BadInput where it has no words for it."""
    options = intelmpi.arguments(placement, described.cores, described.machine)
    pairs = {options[at + 1]: options[at + 2] for at, word in enumerate(options) if word == "-genv"}
    return {name: value for name, value in (placement.environment | pairs).items() if name.startswith("I_MPI_PIN")}
