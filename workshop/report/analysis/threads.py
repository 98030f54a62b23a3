"""The threads of a run's ranks: how many of each kind, how many worked, and where there are more than cores.

Sleeping threads only cost memory. More working threads than cores are slow: they take turns on them.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeGuard

from workshop.core import topology, words
from workshop.registry import workloads
from workshop.store.records import RunRecord

# Kinds as `engine.threads` tells them, in the order in which they are shown, and how they are spoken of.
KINDS = {
    "main": "main",
    "intra-op": "TensorFlow intra-op (Eigen)",
    "inter-op": "TensorFlow inter-op",
    "tensorflow": "TensorFlow's others",
    "openmp": "OpenMP",
    "blas": "OpenBLAS",
    "tbb": "TBB",
    "numba": "Numba",
    "horovod": "Horovod",
    "mpi": "MPI",
    "zeromq": "ZeroMQ",
    "reporter": "our reporter",
    "python": "Python",
    "other": "others",
}
CROWDED = 1.25  # threads ready to work for each core, from which on there are too many
DELAYED = 0.25  # share of their time that threads wait for a core, from which on it is worth a word
FULL = 0.9  # share of the cores' time that ranks use themselves, from which nobody else has much of it
NAMED = 4  # kinds in a sentence


@dataclass(frozen=True)
class Crew:
    """The threads of all ranks of one host."""

    host: str
    ranks: tuple[int, ...]
    cores: int  # on which these ranks may run; 0: not known
    of_cores: int  # that the host has; 0: not known
    counts: Mapping[str, int]  # by kind
    busy: Mapping[str, int]  # of these, those that worked
    # Of the kinds that worked; helpers wait, too, where somebody else keeps the cores, and it means nothing.
    worked: float  # cores' worth of processor time: seconds at work in a second
    ready: float | None  # threads that were at work or waited for a core, on average; None where that isn't known

    @property
    def threads(self) -> int:
        return sum(self.counts.values())

    @property
    def workers(self) -> int:
        return sum(self.busy.values())

    @property
    def delayed(self) -> float:
        """The share of their time that threads which could work waited for a core; 0 where it isn't known."""
        return 1 - self.worked / self.ready if self.ready else 0.0

    @property
    def crowded(self) -> bool:
        """Whether more threads worked than the cores can take, and were ready to at the same time, as far as known."""
        if not self.cores or self.workers <= self.cores:
            return False
        return self.ready is None or self.ready > CROWDED * self.cores


def crews(run: RunRecord) -> list[Crew]:
    """The threads of each host; empty where the run tells nothing of them."""
    censuses, seconds = run.metrics.get("threads"), run.metrics.get("threads_seconds")
    reports = (run.rank_map or {}).get("ranks") or []
    if not isinstance(censuses, list) or not _positive(seconds) or len(censuses) != len(reports) or None in censuses:
        return []
    hosts = topology.machines(run.machine)
    host_crews = []
    for host in dict.fromkeys(str(report["host"]) for report in reports):
        host_reports = [report for report in reports if str(report["host"]) == host]
        core_of = {row["unit"]: row["core"] for row in (hosts.get(host) or {}).get("units") or []}
        allowed = {core_of.get(unit, unit) for report in host_reports for unit in report.get("units") or []}
        host_censuses = [censuses[report["rank"]] for report in host_reports]
        worked, waited = (_total(host_censuses, name) for name in ("seconds", "waited"))
        host_crews.append(
            Crew(
                host,
                tuple(report["rank"] for report in host_reports),
                len(allowed),
                len(set(core_of.values())),
                _by_kind(host_censuses, "count"),
                _by_kind(host_censuses, "busy"),
                (worked or 0.0) / seconds,
                None if waited is None or worked is None else (worked + waited) / seconds,
            )
        )
    return host_crews


def core_waits(run: RunRecord) -> dict[int, float]:
    """By rank, the share of the time in which its threads could run that they waited for a core. Empty where no rank
    tells, and where the ranks' own threads keep all the cores."""
    reports: list[tuple[int, Any, Any]]
    if host_crews := crews(run):
        if any(crew.crowded and crew.worked >= FULL * crew.cores for crew in host_crews):
            return {}
        censuses = enumerate(run.metrics["threads"])
        reports = [(rank, _total([census], "seconds"), _total([census], "waited")) for rank, census in censuses]
    else:
        core = {report["rank"]: report.get("core") or {} for report in (run.rank_map or {}).get("ranks") or []}
        reports = [(rank, seconds.get("worked"), seconds.get("waited")) for rank, seconds in core.items()]
    return {
        rank: waited / (worked + waited)
        for rank, worked, waited in reports
        if _positive(worked) and _positive(waited, zero=True)
    }


def sentences(run: RunRecord) -> list[str]:
    """Sentences on each host's threads, such as "Rank 0 has 24 threads for 2 cores. 2 threads worked: 2 TensorFlow
    intra-op (Eigen). That is not too many. …"; empty where the run tells nothing of them."""
    host_crews = crews(run)
    return [_sentence(crew, several=len(host_crews) > 1) for crew in host_crews]


def _sentence(crew: Crew, several: bool) -> str:
    who = words.capital(words.numbered("rank", crew.ranks)) + (f" on {crew.host}" if several else "")
    have = "has" if len(crew.ranks) == 1 else "together have"
    part = f"{crew.cores} of " if crew.of_cores > crew.cores else ""
    cores = f" for {part}{words.count(crew.of_cores if part else crew.cores, 'core')}" if crew.cores else ""
    lines = [f"{who} {have} {words.count(crew.threads, 'thread')}{cores}."]
    asleep = {kind: count - crew.busy.get(kind, 0) for kind, count in crew.counts.items()}
    if crew.workers:
        lines += [f"{words.count(crew.workers, 'thread')} worked: {_named(crew.busy)}.", _judged(crew)]
    if rest := sum(asleep.values()):
        others = "The others" if crew.workers else "They"
        lines.append(f"{others} slept nearly all of the time, which costs some memory only: {_named(asleep)}.")
    return " ".join(filter(None, lines)) if rest or crew.workers else lines[0]


def _judged(crew: Crew) -> str:
    """Whether so many workers are too many."""
    if not crew.cores:
        return ""
    ready = "" if crew.ready is None else f"{crew.ready:.1f} were ready to work at a time, on average"
    late = f"waited {words.percent(crew.delayed)} of their time for a core"
    if crew.crowded:
        return f"That is too many{f': {ready}, and they {late}' if ready else ''}."
    if crew.delayed >= DELAYED:
        bound = "something else works there, or ranks are bound to the same cores while others are free"
        return f"That is not too many, and yet they {late}: {bound}."
    turns = crew.workers > crew.cores
    return f"They took turns by themselves ({ready}), so that is not too many." if turns else "That is not too many."


def _named(counts: Mapping[str, int]) -> str:
    """Those kinds that there are most of by name, the rest as a number."""
    order = Counter(counts).most_common()
    names = [f"{count} {KINDS.get(kind, kind)}" for kind, count in order[:NAMED] if count]
    rest = sum(count for _, count in order[NAMED:])
    return words.listed([*names, f"{rest} of other kinds"] if rest else names)


def _by_kind(censuses: list[Any], name: str) -> dict[str, int]:
    return {
        kind: sum(int((census.get(kind) or {}).get(name) or 0) for census in censuses) for kind in kinds_of(censuses)
    }


def kinds_of(censuses: Sequence[Mapping[str, Any]]) -> list[str]:
    """The kinds of threads that some ranks have, in their order."""
    some = {kind for census in censuses for kind in census}
    return [*(kind for kind in KINDS if kind in some), *sorted(some - KINDS.keys())]


def _total(censuses: list[Any], name: str) -> float | None:
    """Seconds of the kinds that worked; None where none is known."""
    values = [kind[name] for census in censuses for kind in census.values() if kind.get("busy") and name in kind]
    measurements = [value for value in values if value is not None]
    return sum(measurements) if measurements else None


def _positive(value: Any, zero: bool = False) -> TypeGuard[float]:
    finite = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    return finite and (value > 0 or (zero and value == 0))


# Intel's build of TensorFlow, of which much advice speaks, ran its kernels on OpenMP threads. The stock one runs them
# on thread pools of its own, which it takes from Eigen (intra-op: the threads within an operation; inter-op: operations
# beside each other), and its oneDNN is built to work on that pool, too (oneDNN's "threadpool" runtime). tensorflow-cpu
# 2.21 neither links an OpenMP library nor asks one for anything; that libgomp is in the process all the same is due to
# others, such as scikit-learn. Tried: with OMP_NUM_THREADS 1, 2 and 8 it makes the same threads and is as fast.
PREFIXES = ("OMP_", "KMP_", "GOMP_")  # of variables that an OpenMP library reads
INSTEAD = "TF_NUM_INTRAOP_THREADS"


def openmp_matters(run: RunRecord) -> bool | None:
    """Whether OpenMP threads worked in a training run; None where it tells nothing of its threads."""
    censuses = run.metrics.get("threads")
    if not isinstance(censuses, list) or not censuses:
        return None
    return any((census.get("openmp") or {}).get("busy") for census in censuses)


def openmp_why(run: RunRecord | None = None, variable: str = "OMP_NUM_THREADS", who: str = "this run") -> str:
    """Why an OpenMP variable changes nothing, with what the run's threads show; that it may matter after all, where
    they show otherwise. `who` is what the run is called."""
    worked = openmp_matters(run) if run is not None else None
    if worked:
        return f"OpenMP threads worked in {who}, so {variable} may well matter here."
    reason = (
        f"{variable} is for OpenMP libraries, and stock TensorFlow has none: it runs its kernels, oneDNN's too, on "
        f"Eigen's thread pool, whose size {INSTEAD} sets, as a run's threads do (--threads)."
    )
    if run is None or worked is None:
        return reason
    pool = words.count(_by_kind(run.metrics["threads"], "count").get("intra-op", 0), "thread")
    return f"{reason} {words.capital(who)} had {pool} of that pool, and no OpenMP thread worked."


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

    Of every set of units that some rank is bound to, it counts the threads that can't leave it, against its units and
    cores. That is Hall's condition for a unit for each thread, exact where sets contain each other or are apart."""
    reports = [report for report in (rank_map or {}).get("ranks") or [] if report.get("units")]
    core_of = cores_of(machine)
    crowds: list[Oversubscription] = []
    excess: dict[tuple[str, frozenset[int]], int] = {}
    bound = {(str(report["host"]), frozenset(report["units"])) for report in reports}
    # A set's cores as a whole count, too: ranks on a core's different hardware threads still share the core.
    sets = bound | {(host, _whole_cores(host, units, core_of)) for host, units in bound}
    # Smaller sets first: what they explain is not said again of those around them.
    for host, units in sorted(sets, key=lambda pair: (len(pair[1]), pair[0], sorted(pair[1]))):
        inside = [r["rank"] for r in reports if str(r["host"]) == host and units.issuperset(r["units"])]
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


def cores_of(machine: Mapping[str, Any] | None) -> dict[tuple[str, int], Any]:
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
