"""Findings, and the facts that they rest on."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeGuard

from workshop.core import accelerators, topology
from workshop.core.placement import POLLING, USUAL_MPI
from workshop.core.words import quantity
from workshop.mpi.implementations import IMPLEMENTATIONS
from workshop.report.analysis.balance import Balance, Totals, balance
from workshop.report.analysis.threads import Oversubscription, core_waits, oversubscription, threads_of
from workshop.store.records import RunRecord

# A slow network, inside a host (False) and between hosts (True): seconds of a message, bytes per second.
HOP = {False: 20e-6, True: 1e-3}
BANDWIDTH = {False: 500e6, True: 10e6}
GOOD_PART = 0.5  # of the time of an exchange: so much its messages have to explain to be blamed for it
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
    def explained(self) -> bool:
        """Whether the messages of a step explain the time of its exchange, as far as the run tells of them."""
        times, transfer = self.times, self.transfer
        return times is None or transfer is None or transfer >= GOOD_PART * times.exchange / times.steps

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
        everything: dict[str, set[int]] = defaultdict(set)
        for unit in self.units:
            everything[unit["host"]].add(unit["unit"])
        free = all(set(report["units"]) == everything.get(report["host"]) for report in self.reports)
        return self.cores > len(everything) and bool(self.reports) and free

    @property
    def bindable(self) -> bool:
        """Whether ranks that are unbound could be bound: each host has the cores that its ranks ask for."""
        cores_per_rank = self.run.placement.get("cores_per_rank") or 1
        return self.unbound and self.ranks * cores_per_rank <= self.cores

    @property
    def polls(self) -> str:
        """Why ranks that wait don't yield: "mpi", which never does, "setting", an environment variable; "": they do."""
        mpi = IMPLEMENTATIONS.get(self.run.placement.get("mpi", ""))
        polling = (self.run.placement.get("environment") or {}).get(POLLING) == "0"
        by_setting = "setting" if polling and mpi is not None and mpi.waiting == "variable" else ""
        return "mpi" if mpi is not None and mpi.waiting == "poll" else by_setting

    def named(self) -> dict[str, Any]:
        """All facts by the names that rules use; None for what the run doesn't tell."""
        named = {name: getattr(self, name) for name in NAMES}
        placement, waits = self.run.placement, sorted(self.core_waits.items(), key=lambda wait: -wait[1])
        mpi = IMPLEMENTATIONS.get(placement.get("mpi", ""))
        return named | {
            "metrics": finite(self.metrics),
            "params": self.run.params,
            "placement": placement,
            "status": self.run.status,
            "measured": self.run.measured,  # a study's or a benchmark's run
            "core_waits": [{"rank": rank, "share": share} for rank, share in waits],  # the longest first
            "most_in_a_crowd": max((len(crowd.ranks) for crowd in self.crowds), default=0),
            "room": max(self.cores // self.ranks, 1),  # cores for each rank
            "mpi_title": mpi and mpi.title,
            "usual_mpi": USUAL_MPI,
            "polling": POLLING,
            "wandered": [
                report["rank"]
                for report in self.reports
                if any(len(thread.get("units_seen") or []) > 1 for thread in report.get("threads") or [])
            ],
            "packages": len({(unit["host"], unit["package"]) for unit in self.units}),
            "far_gpus": self._far_gpus(),
            "slow": self._slow(),
            **self._hosts(),
        }

    def _far_gpus(self) -> list[dict[str, Any]]:
        """The ranks of which every GPU that they may use is on a package where they have no core."""
        far = []
        for report in self.reports:
            gpus = report.get("gpus") or []
            distances = {accelerators.distance(report, gpu) for gpu in gpus}
            if distances == {"other package"} and not report["gpus_unresolved"]:
                near = sorted({package for gpu in gpus for package in gpu["packages"]})
                names = {name: report[name] for name in ("rank", "host", "packages")}
                far.append({**names, "gpus": [gpu["number"] for gpu in gpus], "gpu_packages": near})
        return far

    def _slow(self) -> dict[str, Any] | None:
        """The rank that computed for longest, where it ran, and how long the others computed on average."""
        if self.times is None or self.ranks < 2:
            return None
        slow, compute = self.times.slowest, self.times.compute
        report = next((report for report in self.reports if report["rank"] == slow), {"units": [], "host": ""})
        others, crowded = (sum(compute) - compute[slow]) / (self.ranks - 1), any(slow in c.ranks for c in self.crowds)
        place = {"units": report["units"], "host": report["host"], "crowded": crowded}
        return {"rank": slow, "seconds": compute[slow], "others": others, **place}

    def _hosts(self) -> dict[str, Any]:
        """Hosts that were asked for, and those of them that stayed empty, where all ranks ran on one."""
        hosts = [host["name"] for host in self.run.placement.get("hosts") or []]
        used = str(self.reports[0]["host"]) if self.hosts == 1 else None
        # A host may call itself by less, or more, than the placement does.
        same = [name for name in hosts if used and (name == used or name.partition(".")[0] == used.partition(".")[0])]
        return {
            "hosts_asked": len(hosts),
            "used_host": used,
            "on_first_host": hosts[:1] == same[:1] and bool(same),
            "empty_hosts": [name for name in hosts if name not in same] if same else [],
        }


# Attributes of Facts that rules use by the same names.
NAMES = (
    *("ranks", "threads", "units", "crowds", "times", "withheld", "cores", "hosts", "transfer", "explained"),
    *("fitting", "busy", "unbound", "bindable", "polls"),
)


def finite(values: Mapping[str, Any]) -> dict[str, Any]:
    """Values without those that are none, or no finite number."""
    present = {name: value for name, value in values.items() if value is not None}
    return {name: value for name, value in present.items() if not isinstance(value, float) or math.isfinite(value)}


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


def percent(value: float) -> str:
    """A score as a percentage: 93.1 %."""
    return quantity(100 * value, "%")


def points(value: float) -> str:
    """A difference of two percentages."""
    return quantity(100 * value, "points")


def number(value: Any) -> TypeGuard[float]:
    """Whether this is one, and finite."""
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
