"""Findings, and the facts that they rest on."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from workshop.core import topology
from workshop.report.analysis.balance import Balance, Totals, balance
from workshop.report.analysis.oversubscription import Oversubscription, oversubscription, threads_of
from workshop.report.analysis.scores import number
from workshop.report.analysis.threads import core_waits
from workshop.store.records import RunRecord

# A slow network, inside a host (False) and between hosts (True): seconds of a message, bytes per second.
HOP = {False: 20e-6, True: 1e-3}
BANDWIDTH = {False: 500e6, True: 10e6}
CYCLE = 2e-3  # seconds, in which Horovod asks all ranks what is ready


@dataclass(frozen=True)
class Finding:
    """One thing to say; of several the first is the verdict."""

    verdict: str
    why: str
    following: str
    of_times: bool = False  # whether `why` tells how the ranks spent their time


@dataclass(frozen=True)
class Facts:
    """Everything that is known of a run."""

    run: RunRecord
    ranks: int
    threads: int  # per rank, that compute
    reports: Sequence[Mapping[str, Any]]  # of the rank map
    units: Sequence[Mapping[str, Any]]  # that ranks may use, of all machines that are known, with their `host`
    crowds: Sequence[Oversubscription]
    times: Balance | None
    core_waits: Mapping[int, float]  # by rank, the share of its time that it waited for a core although it could run
    withheld: int = 0  # cores of the machines that no rank may use (taskset, a container, a batch job)

    @property
    def metrics(self) -> Mapping[str, Any]:
        return self.run.metrics

    @property
    def cores(self) -> int:
        """Of all hosts; 0 where none is known."""
        return len(_cores(self.units))

    @property
    def hosts(self) -> int:
        return len({report["host"] for report in self.reports})

    @property
    def transfer(self) -> float | None:
        """Seconds that the messages of a step explain, with a slow network; None where the run doesn't tell of them."""
        messages, size = self.metrics.get("messages_per_step"), self.metrics.get("bytes_per_step")
        if not number(messages) or not number(size):
            return None
        far = self.hosts > 1
        hops = max(math.ceil(math.log2(self.ranks)), 1)
        cycle = CYCLE if self.metrics.get("exchange") == "horovod" else 0.0
        return cycle + messages * hops * HOP[far] + hops * size / BANDWIDTH[far]

    @property
    def fitting(self) -> int:
        """How many ranks of this many threads the machine has cores for."""
        return max(self.cores // self.threads, 1)

    @property
    def busy(self) -> int:
        """Cores that can be at work at once: no more than there are threads, no more than ranks may run on."""
        core_of = {(unit["host"], unit["unit"]): (unit["host"], unit["core"]) for unit in self.units}
        allowed = {core_of.get((report["host"], unit)) for report in self.reports for unit in report["units"]}
        return min(self.ranks * self.threads, len(allowed - {None}))

    @property
    def unbound(self) -> bool:
        """Whether every rank may run anywhere on its host, which has more than one core."""
        everything: dict[str, set[int]] = {}
        for unit in self.units:
            everything.setdefault(unit["host"], set()).add(unit["unit"])
        free = all(set(report["units"]) == everything.get(report["host"]) for report in self.reports)
        return self.cores > len(everything) and bool(self.reports) and free

    @property
    def bindable(self) -> bool:
        """Whether ranks that are unbound could be bound: each host has the cores that its ranks ask for."""
        cores_per_rank = self.run.placement.get("cores_per_rank") or 1
        return self.unbound and self.ranks * cores_per_rank <= self.cores


def facts(run: RunRecord, totals: Totals) -> Facts:
    """The facts of a run; `totals` are its events' (`Store.totals`)."""
    machine, reports = run.machine or {}, (run.rank_map or {}).get("ranks") or []
    ranks = len(reports) or run.placement.get("ranks") or 1
    threads = threads_of(run)
    crowds = oversubscription(run.rank_map, machine, threads)
    hosts = topology.machines(machine)
    everything = [{**row, "host": host} for host, described in hosts.items() for row in described["units"]]
    units = [row for row in everything if row["unit"] in hosts[row["host"]].get("allowed", [row["unit"]])]
    times, withheld = balance(totals, ranks, run.metrics), len(_cores(everything) - _cores(units))
    return Facts(run, ranks, threads, reports, units, crowds, times, core_waits(run), withheld)


def _cores(units: Iterable[Mapping[str, Any]]) -> set[tuple[str, int]]:
    return {(unit["host"], unit["core"]) for unit in units}
