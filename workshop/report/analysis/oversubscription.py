"""Where more wants to run than there is to run on: ranks and their threads against processing units and cores."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from workshop.core import topology
from workshop.registry import workloads
from workshop.store.records import RunRecord

Sharing = Literal["units", "cores"]


@dataclass(frozen=True)
class Oversubscription:
    """Ranks of one host that have to share units or cores."""

    host: str
    ranks: tuple[int, ...]
    units: tuple[int, ...]  # the processing units that they have together
    cores: int  # in which these units lie
    threads: int  # that the ranks run together
    kind: Sharing  # units: threads take turns; cores: hardware threads share a core's arithmetic


def oversubscription(
    rank_map: Mapping[str, Any] | None, machine: Mapping[str, Any] | None, threads_per_rank: int = 1
) -> list[Oversubscription]:
    """Which ranks share which units, as far as they can't help it; empty: nobody has to share.

    Ranks that may run on the same units don't share them while there are enough for all of them. So this looks at
    every set of units that some rank is bound to, counts the threads of the ranks that can't leave that set, and
    compares: more than units, or (with hardware threads) more than cores. That is Hall's condition for giving each
    thread a unit of its own; it is exact where the sets contain each other or are apart, as bindings make them.
    """
    reports = [report for report in (rank_map or {}).get("ranks") or [] if report.get("units")]
    core_of = _cores(machine)
    crowds: list[Oversubscription] = []
    excess: dict[tuple[str, frozenset[int]], int] = {}
    bound = {(str(report["host"]), frozenset(report["units"])) for report in reports}
    # A set's cores as a whole count, too: ranks on a core's different hardware threads still share the core.
    sets = bound | {(host, _whole_cores(host, units, core_of)) for host, units in bound}
    # Smaller sets first: what they explain is not said again of those around them.
    for host, units in sorted(sets, key=lambda pair: (len(pair[1]), pair[0], sorted(pair[1]))):
        inside = [
            report["rank"] for report in reports if str(report["host"]) == host and units.issuperset(report["units"])
        ]
        threads = len(inside) * threads_per_rank
        cores = len({core_of.get((host, unit), ("alone", unit)) for unit in units})
        explained = sum(over for (where, part), over in excess.items() if where == host and part < units)
        if threads - cores <= explained:
            continue
        excess[host, units] = threads - cores
        kind: Sharing = "units" if threads > len(units) else "cores"
        crowds.append(Oversubscription(host, tuple(sorted(inside)), tuple(sorted(units)), cores, threads, kind))
    return crowds


def asked_threads(placement: Mapping[str, Any]) -> int:
    """The threads that each rank may have by a stored placement."""
    return placement.get("threads") or placement.get("cores_per_rank") or 1


def threads_of(run: RunRecord) -> int:
    """The threads with which each rank of a run computes: its placement's, where the workload uses them."""
    workload = workloads().get(run.workload)
    threads = workload.threads(run.params) if workload is not None and workload.threads is not None else None
    return threads or asked_threads(run.placement)


def _cores(machine: Mapping[str, Any] | None) -> dict[tuple[str, int], Any]:
    """The core of each (host, unit), as far as the machine is known."""
    return {
        (str(host), row["unit"]): row["core"]
        for host, host_machine in topology.machines(machine).items()
        for row in host_machine.get("units") or []
    }


def _whole_cores(host: str, units: frozenset[int], core_of: Mapping[tuple[str, int], Any]) -> frozenset[int]:
    """The units together with the other hardware threads of their cores."""
    cores = {core_of[host, unit] for unit in units if (host, unit) in core_of}
    return units | {unit for (where, unit), core in core_of.items() if where == host and core in cores}
