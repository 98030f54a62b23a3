"""What a scaling study says: speed-up and efficiency over numbers of ranks, and where the ranks' time went.

Throughput X(n) is the work that n ranks do together in a second. Speed-up is S(n) = X(n) / X(m), m being the smallest
number of ranks that was measured. On the same work that is the ratio of times, T(m) / T(n) (strong scaling: Amdahl,
Validity of the single processor approach to achieving large scale computing capabilities, AFIPS 1967); on work that
grows with the ranks it is the scaled speed-up (weak scaling: Gustafson, Reevaluating Amdahl's law, Communications of
the ACM 31(5), 1988). Efficiency is S(n) / (n / m), with m = 1 speed-up over ranks: 1 is ideal. Throughput is the
median of the repeats, with the lowest and the highest beside it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from workshop.report.analysis.balance import PHASES, Balance, Totals
from workshop.report.analysis.findings import facts
from workshop.report.analysis.oversubscription import Oversubscription, asked_threads
from workshop.report.analysis.waits import sentence, waiting
from workshop.store.records import RunRecord


@dataclass(frozen=True)
class Measurement:
    """One trial, as far as it has come."""

    ranks: int
    threads: int  # per rank
    run: int | None = None
    rate: float | None = None  # None: it has none, or not yet
    failed: str = ""  # why, where it failed
    seconds: Mapping[str, float] = field(default_factory=dict)  # of all ranks together, by phase
    late: tuple[int, ...] = ()  # ranks that the others waited for
    waited: str = ""  # who waited for whom, in a sentence
    crowds: tuple[Oversubscription, ...] = ()
    cores: int = 0  # of the machine; 0 where it isn't known


@dataclass(frozen=True)
class Row:
    """All trials with one number of ranks."""

    ranks: int
    threads: int
    rates: tuple[float, ...]  # what the repeats measured
    failures: tuple[str, ...]
    shares: Mapping[str, float]  # of the ranks' time, by phase; empty where it wasn't told
    late: tuple[int, ...]  # ranks for which the others waited in all repeats
    waited: str  # who waited for whom in the repeat nearest to the median
    crowds: tuple[Oversubscription, ...]
    cores: int
    runs: tuple[int, ...]
    base: Row | None = None  # what it is compared with; None: nothing has been measured

    @property
    def shown_shares(self) -> dict[str, float | None]:
        """The shares as tables show them: None where none was told, and for what takes a second rank."""
        alone = ("communicate", "wait") if self.ranks == 1 else ()
        return {phase: None if phase in alone else self.shares.get(phase) for phase in PHASES}

    @property
    def throughput(self) -> float | None:
        return median(self.rates) if self.rates else None

    @property
    def speed_up(self) -> float | None:
        return self._against(self.throughput)

    @property
    def efficiency(self) -> float | None:
        return None if self.speed_up is None else self.speed_up / self.ideal

    @property
    def ideal(self) -> float:
        """The speed-up with which nothing would be lost."""
        return self.ranks / self.base.ranks if self.base else 1.0

    @property
    def reach(self) -> tuple[float, float]:
        """The lowest and the highest speed-up of the repeats; only of rows that were measured."""
        return self._against(min(self.rates)) or 0.0, self._against(max(self.rates)) or 0.0

    def _against(self, rate: float | None) -> float | None:
        own = self.base.throughput if self.base else None
        return None if rate is None or not own else rate / own

    def as_json(self) -> dict[str, Any]:
        return {
            "ranks": self.ranks,
            "threads": self.threads,
            "throughput": self.throughput,
            "low": min(self.rates, default=None),
            "high": max(self.rates, default=None),
            "speed_up": self.speed_up,
            "efficiency": self.efficiency,
            "phases": dict(self.shares),
            "repeats": len(self.rates),
            "failed": len(self.failures),
            "runs": list(self.runs),
        }


def measurement(run: RunRecord, totals: Totals, rate: str) -> Measurement:
    """What a run measured: `rate` names the metric that is compared, `totals` are its events' (`Store.totals`).

    A run that completed without that metric counts as failed: there is nothing to compare.
    """
    known = facts(run, totals)
    told = {"ranks": known.ranks, "threads": asked_threads(run.placement), "run": run.id, "cores": known.cores}
    if run.status == "failed":
        error = run.error or {}
        return Measurement(**told, failed=f"{error.get('type') or 'failed'}: {error.get('message') or 'no word why'}")
    if run.status != "completed":
        return Measurement(**told)
    value = run.metrics.get(rate)
    if not isinstance(value, int | float) or not math.isfinite(value) or value <= 0:
        return Measurement(**told, failed=f"run {run.id} tells no {rate}, perhaps because it was too short")
    waits = waiting(run)
    return Measurement(
        **told,
        rate=float(value),
        seconds=_seconds(known.times),
        late=waits.late if waits else (),
        waited=sentence(waits) if waits else "",
        crowds=tuple(known.crowds),
    )


def rows(measurements: Iterable[Measurement]) -> list[Row]:
    """A row for each number of ranks, ascending, all compared with the smallest that was measured."""
    by_ranks: dict[int, list[Measurement]] = {}
    for one in measurements:
        by_ranks.setdefault(one.ranks, []).append(one)
    found = [_row(by_ranks[ranks], None) for ranks in sorted(by_ranks)]
    base = next((row for row in found if row.rates), None)
    return [_row(by_ranks[row.ranks], base) for row in found]


def _row(of: Sequence[Measurement], base: Row | None) -> Row:
    good = [one for one in of if one.rate is not None]
    rates = tuple(one.rate for one in good if one.rate is not None)
    middle = min(good, key=lambda one: abs((one.rate or 0.0) - median(rates)), default=of[0])
    return Row(
        ranks=of[0].ranks,
        threads=of[0].threads,
        rates=rates,
        failures=tuple(one.failed for one in of if one.failed),
        shares=_shares(good),
        late=good[0].late if good and all(one.late == good[0].late for one in good) else (),
        waited=middle.waited,
        crowds=middle.crowds,
        cores=max(one.cores for one in of),
        runs=tuple(one.run for one in of if one.run is not None),
        base=base,
    )


def _seconds(times: Balance | None) -> dict[str, float]:
    if times is None:
        return {}
    return {
        "compute": sum(times.compute),
        "communicate": len(times.compute) * times.exchange,
        "wait": sum(times.waiting),
        "input": sum(times.input),
    }


def _shares(of: Sequence[Measurement]) -> dict[str, float]:
    """Where the ranks' time went, over all repeats."""
    seconds = {phase: sum(one.seconds.get(phase, 0.0) for one in of) for phase in PHASES}
    total = sum(seconds.values())
    return {phase: value / total for phase, value in seconds.items()} if total > 0 else {}
