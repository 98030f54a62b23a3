"""MVAPICH2's own launcher, in commands to copy and to read: `mpirun_rsh -np 4 n1 n1 n2 n2 MV2_ENABLE_AFFINITY=1 …`.

Hosts stand once for each rank, and variables before the program, among them how ranks are bound (MVAPICH2 2.3 User
Guide, sections 5.2.1 and 6.5). Sessions can't be started with it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

from workshop.core.errors import BadInput
from workshop.core.placement import Host, Placement, hosts_from, positive
from workshop.core.words import count
from workshop.mpi import rules

LAUNCHER, TITLE = "mpirun_rsh", "MVAPICH2"
HERE = "localhost"
LEVELS = {"core": "core", "package": "socket", "numa": "numanode"}
POLICIES = {"auto": "bunch", "slot": "bunch", "node": "bunch", "core": "bunch", "package": "scatter"}
AFFINITY, POLICY, LEVEL = "MV2_ENABLE_AFFINITY", "MV2_CPU_BINDING_POLICY", "MV2_CPU_BINDING_LEVEL"
CORES, HYBRID = "MV2_THREADS_PER_PROCESS", "MV2_HYBRID_BINDING_POLICY"


def words(placement: Placement, cores: int) -> list[str]:
    """The words of a command without the program. Raises BadInput for what MVAPICH2 has no words for."""
    if placement.per_resource is not None and placement.map_by != "node":
        each = count(placement.per_resource, "rank")
        raise BadInput(
            f"{TITLE} has no words for {each} per {placement.map_by}; map_by should be node, or per_resource empty."
        )
    variables = placement.rank_environment() | _binding(placement, cores)
    return [
        *(LAUNCHER, "-np", str(placement.ranks)),
        *hosts_of_ranks(placement),
        *(f"{name}={value}" for name, value in variables.items()),
    ]


def hosts_of_ranks(placement: Placement) -> list[str]:
    """The host of each rank, as Hydra deals them out."""
    names = [host.name for host in placement.hosts] or [HERE]
    dealt = zip(names, rules.dealt_out(placement), strict=True)
    host_of_rank = {rank: name for name, host_ranks in dealt for rank in host_ranks}
    return [host_of_rank[rank] for rank in range(placement.ranks)]


def _binding(placement: Placement, cores: int) -> dict[str, str]:
    bound = placement.binding(cores)
    if bound == "none":
        return {AFFINITY: "0"}
    if bound not in LEVELS or placement.map_by not in POLICIES or (placement.map_by == "core" != bound):
        wrong = f"bind_to is {bound}" if bound not in LEVELS else f"map_by is {placement.map_by}"
        raise BadInput(
            f"{wrong}, which {TITLE} has no words for; bind_to should be core, numa, package or none, and map_by core, "
            "package or node."
        )
    if placement.cores_per_rank > 1:
        if bound != "core" or POLICIES[placement.map_by] != "bunch":
            raise BadInput(
                f"{TITLE} gives each rank {placement.cores_per_rank} cores next to each other; bind_to should be core, "
                "and map_by core or node."
            )
        return {AFFINITY: "1", POLICY: "hybrid", HYBRID: "linear", CORES: str(placement.cores_per_rank)}
    return {AFFINITY: "1", POLICY: POLICIES[placement.map_by], LEVEL: LEVELS[bound]}


def settings(names: Sequence[str], environment: dict[str, str]) -> tuple[dict[str, Any], list[str]]:
    """The fields of a placement that the host of each rank and the variables say, and what isn't understood of them.
    The variables that are understood are taken out of `environment`."""
    values: dict[str, Any] = {"bind_to": "core", "map_by": "auto", "cores_per_rank": 1, "hosts": ()}
    unknown: list[str] = []
    policy, level = environment.pop(POLICY, "hybrid"), environment.pop(LEVEL, "core")
    if set(names) - {HERE}:
        hosts = dealt(names, by_node=policy != "scatter")
        unknown += [] if hosts else ["the order of the hosts"]
        values |= hosts or {"hosts": _hosts({name: names.count(name) for name in names})}
    if environment.pop(AFFINITY, "1") == "0":
        values["bind_to"] = "none"
    resources = {word: resource for resource, word in LEVELS.items()}
    cores = environment.pop(CORES, "1")
    order = environment.pop(HYBRID, "linear")
    if values["bind_to"] == "none":
        return values, unknown
    if policy == "scatter" and values["map_by"] == "auto":
        values["map_by"] = "package"
    elif policy not in ("bunch", "hybrid"):
        unknown.append(f"{POLICY}={policy}")
    if level in resources:
        values["bind_to"] = resources[level]
    else:
        unknown.append(f"{LEVEL}={level}")
    if policy == "hybrid" and order != "linear":  # which no field says, so that MVAPICH2's own rules count
        environment |= {POLICY: policy, HYBRID: order, CORES: cores}
        return values | {"bind_to": "auto"}, unknown
    if not positive(cores):
        raise BadInput(f"{CORES} is {cores!r:.40}; it should be a number of cores from 1 to 1024.")
    if policy == "hybrid":
        values["cores_per_rank"] = positive(cores)
    return values, unknown


def dealt(names: Sequence[str], by_node: bool) -> dict[str, Any] | None:
    """Hosts and mapping by which ranks are dealt out to the hosts in this order, `by_node` where that is possible; None
    where there are none."""
    counts = {name: names.count(name) for name in names}
    runs = [(name, len(list(neighbours))) for name, neighbours in groupby(names)]
    firsts = dict(reversed(runs))  # how many ranks each host gets before the next host's turn
    each = runs[0][1]
    nodes: dict[str, Any] = {"hosts": _hosts(counts), "map_by": "node", "per_resource": each if each > 1 else None}
    ranks_of_hosts = [[rank for rank, host in enumerate(names) if host == name] for name in counts]
    in_turn: dict[str, Any] = {"hosts": _hosts({name: firsts[name] for name in counts}), "oversubscribe": True}
    for values in ({"hosts": _hosts(counts)}, *([nodes] if by_node else []), in_turn):
        if rules.dealt_out(Placement.parse({"ranks": len(names), **values})) == ranks_of_hosts:
            return values
    return None


def _hosts(slots: Mapping[str, int]) -> tuple[Host, ...]:
    return hosts_from(",".join(f"{name}:{count}" for name, count in slots.items()))
