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
from dataclasses import asdict, dataclass, field, replace
from statistics import median
from typing import Any

from workshop.core import words
from workshop.report.analysis.balance import PHASES, Balance, Totals
from workshop.report.analysis.findings import facts
from workshop.report.analysis.oversubscription import Oversubscription, asked_threads
from workshop.report.training.waits import sentence, waiting
from workshop.store.records import RunRecord


@dataclass(frozen=True)
class PublishedSpeedUp:
    """A speed-up that somebody has published: of so many `workers` over one worker."""

    what: str
    workers: int
    worker: str  # the name of a worker, in the singular
    speed_up: float
    weak: bool | None  # whether the work grew with the workers; None where the source doesn't tell
    figures: str  # the source's own numbers
    source: str

    @property
    def name(self) -> str:
        """For a legend."""
        return f"{self.what}, {self.workers} {self.worker}s ({self.short})"

    @property
    def short(self) -> str:
        """The source in two words."""
        return self.source.rpartition("(")[2].rstrip(")")

    @property
    def sentence(self) -> str:
        """The speed-up with its efficiency, the source's numbers and the source."""
        efficiency = words.percent(self.speed_up / self.workers)
        return (
            f"Published for {self.what}, a speed-up of {self.speed_up:.2f} and an efficiency of {efficiency}: "
            f"{self.figures} ({self.source})."
        )

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


# A speed-up needs the same work on one worker and on several. So the images/s of Frontera (2,048 nodes) and Summit
# (1,536 GPUs) are left out: their source has no figure for a single worker.
PUBLISHED = (
    PublishedSpeedUp(
        "ResNet-50",
        2,
        "GPU",
        632.8 / 334.0,
        True,
        "334.0 images/s on one V100, 632.8 on two in different nodes, batch 64 per GPU; the talk rounds to 1.89",
        "High-Performance Deep Learning, SC22 booth talk, The Ohio State University (Jain 2022)",
    ),
    PublishedSpeedUp(
        "U-Net",
        2,
        "node",
        1.84,
        None,
        "72 hours of training became 39 by tuning and two nodes of 44 cores together, 3,489 CT and as many PET images",
        "Distributed DL/ML Solutions for HPC systems, Intel (Sobhee 2021)",
    ),
    PublishedSpeedUp(
        "S-GAN",
        8,
        "node",
        8.0,
        None,
        "a further 8x over eight nodes after all tuning, the article's own rounding",
        "Optimizing Distributed AI Training Using Intel oneAPI Toolkits, Intel (Rawat and Kapoor 2021)",
    ),
)


def references(largest: int) -> list[PublishedSpeedUp]:
    """The published speed-ups that fit into a figure of so many ranks."""
    return [published for published in PUBLISHED if published.workers <= largest]


@dataclass(frozen=True)
class Measurement:
    """One trial and its result so far."""

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
    rates: tuple[float, ...]  # of the repeats
    failures: tuple[str, ...]
    shares: Mapping[str, float]  # of the ranks' time, by phase; may be empty
    late: tuple[int, ...]  # ranks for which the others waited in all repeats
    waited: str  # who waited for whom in the repeat nearest to the median
    crowds: tuple[Oversubscription, ...]
    cores: int
    runs: tuple[int, ...]
    base: Row | None = None  # the row to compare with; None: nothing has been measured

    @property
    def shown_shares(self) -> dict[str, float | None]:
        """The shares in tables: None for unknown shares, and for phases that need a second rank."""
        alone = ("communicate", "wait") if self.ranks == 1 else ()
        return {phase: None if phase in alone else self.shares.get(phase) for phase in PHASES}

    @property
    def throughput(self) -> float | None:
        return median(self.rates) if self.rates else None

    @property
    def speed_up(self) -> float | None:
        return self.against(self.throughput)

    @property
    def efficiency(self) -> float | None:
        return None if self.speed_up is None else self.speed_up / self.ideal

    @property
    def ideal(self) -> float:
        """The ideal speed-up."""
        return self.ranks / self.base.ranks if self.base else 1.0

    @property
    def reach(self) -> tuple[float, float]:
        """The lowest and the highest speed-up of the repeats, for measured rows."""
        return self.against(min(self.rates)) or 0.0, self.against(max(self.rates)) or 0.0

    def against(self, rate: float | None) -> float | None:
        """A rate divided by the base's throughput; None if one of the two is missing."""
        base_rate = self.base.throughput if self.base else None
        return None if rate is None or not base_rate else rate / base_rate

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
    """The result of a run: `rate` names the compared metric, `totals` are the totals of its events (`Store.totals`).

    A completed run without that metric counts as failed.
    """
    run_facts = facts(run, totals)
    basis = Measurement(ranks=run_facts.ranks, threads=asked_threads(run.placement), run=run.id, cores=run_facts.cores)
    if run.status == "failed":
        error = run.error or {}
        return replace(basis, failed=f"{error.get('type') or 'failed'}: {error.get('message') or 'no word why'}")
    if run.status != "completed":
        return basis
    value = run.metrics.get(rate)
    if not isinstance(value, int | float) or not math.isfinite(value) or value <= 0:
        return replace(basis, failed=f"run {run.id} has no metric {rate}, perhaps because it was too short")
    waits = waiting(run)
    return replace(
        basis,
        rate=float(value),
        seconds=_seconds(run_facts.times),
        late=waits.late if waits else (),
        waited=sentence(waits) if waits else "",
        crowds=tuple(run_facts.crowds),
    )


def rows(measurements: Iterable[Measurement]) -> list[Row]:
    """A row for each number of ranks, ascending, compared with the smallest measured number."""
    by_ranks: dict[int, list[Measurement]] = {}
    for measurement in measurements:
        by_ranks.setdefault(measurement.ranks, []).append(measurement)
    uncompared = [_row(by_ranks[ranks], None) for ranks in sorted(by_ranks)]
    base = next((row for row in uncompared if row.rates), None)
    return [_row(by_ranks[row.ranks], base) for row in uncompared]


def _row(measurements: Sequence[Measurement], base: Row | None) -> Row:
    good = [measurement for measurement in measurements if measurement.rate is not None]
    rates = tuple(measurement.rate for measurement in good if measurement.rate is not None)
    middle = min(good, key=lambda measurement: abs((measurement.rate or 0.0) - median(rates)), default=measurements[0])
    return Row(
        ranks=measurements[0].ranks,
        threads=measurements[0].threads,
        rates=rates,
        failures=tuple(measurement.failed for measurement in measurements if measurement.failed),
        shares=_shares(good),
        late=good[0].late if good and all(measurement.late == good[0].late for measurement in good) else (),
        waited=middle.waited,
        crowds=middle.crowds,
        cores=max(measurement.cores for measurement in measurements),
        runs=tuple(measurement.run for measurement in measurements if measurement.run is not None),
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


def _shares(measurements: Sequence[Measurement]) -> dict[str, float]:
    """The shares of phases in the ranks' time, over all repeats."""
    seconds = {phase: sum(measurement.seconds.get(phase, 0.0) for measurement in measurements) for phase in PHASES}
    total = sum(seconds.values())
    return {phase: value / total for phase, value in seconds.items()} if total > 0 else {}
