"""Speed-up and efficiency of a grid over numbers of ranks, with the share of serial work that explains them.

Throughput X(n) is the work that n ranks do together in a second. Speed-up is S(n) = X(n) / X(m), m being the smallest
number of ranks that was measured. On the same work that is the ratio of times, T(m) / T(n) (strong scaling: Amdahl,
Validity of the single processor approach to achieving large scale computing capabilities, AFIPS 1967); on work that
grows with the ranks it is the scaled speed-up (weak scaling: Gustafson, Reevaluating Amdahl's law, Communications of
the ACM 31(5), 1988). Efficiency is S(n) / (n / m), with m = 1 speed-up over ranks: 1 is ideal. Throughput is the
median of the repeats, with the lowest and the highest beside it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from workshop.core import words
from workshop.report.analysis.balance import PHASES, Totals
from workshop.report.analysis.findings import facts
from workshop.report.analysis.threads import Oversubscription, asked_threads
from workshop.report.training.facts import waiting
from workshop.store.records import RunRecord
from workshop.study.results import CellResult


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
        """For a legend: what, on what, and the source in two words."""
        return f"{self.what}, {self.workers} {self.worker}s ({self.source.rpartition('(')[2].rstrip(')')})"

    @property
    def sentence(self) -> str:
        """The speed-up with its efficiency, the source's numbers and the source."""
        efficiency = words.percent(self.speed_up / self.workers)
        return (
            f"Published for {self.what}, a speed-up of {self.speed_up:.2f} and an efficiency of {efficiency}: "
            f"{self.figures} ({self.source})."
        )


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


@dataclass(frozen=True)
class Row:
    """The cell of one number of ranks, where its ranks' time went, and the row that it is compared with."""

    cell: CellResult
    shares: Mapping[str, float] = field(default_factory=dict)  # of the ranks' time, by phase; may be empty
    late: tuple[int, ...] = ()  # ranks for which the others waited in all repeats
    waited: str = ""  # who waited for whom in the median repeat
    crowds: tuple[Oversubscription, ...] = ()
    cores: int = 0  # of the machine; 0 where it isn't known
    base: Row | None = None  # None: nothing has been measured

    @property
    def ranks(self) -> int:
        return int(self.cell.placement["ranks"])

    @property
    def threads(self) -> int:
        return asked_threads(self.cell.placement)

    @property
    def ideal(self) -> float:
        """The ideal speed-up."""
        return self.ranks / self.base.ranks if self.base else 1.0

    def against(self, rate: float | None) -> float | None:
        """A rate divided by the base's throughput; None if one of the two is missing."""
        base_rate = self.base.cell.median if self.base else None
        return None if rate is None or not base_rate else rate / base_rate

    @property
    def speed_up(self) -> float | None:
        return self.against(self.cell.median)

    @property
    def efficiency(self) -> float | None:
        return None if self.speed_up is None else self.speed_up / self.ideal

    @property
    def shown_shares(self) -> list[float | None]:
        """The shares in the order of `PHASES`: None for unknown shares, and for phases that need a second rank."""
        alone = ("communicate", "wait") if self.ranks == 1 else ()
        return [None if phase in alone else self.shares.get(phase) for phase in PHASES]

    def as_json(self) -> dict[str, Any]:
        return {
            **self.cell.as_json(),
            "ranks": self.ranks,
            "threads": self.threads,
            "throughput": self.cell.median,
            "speed_up": self.speed_up,
            "efficiency": self.efficiency,
            "phases": dict(self.shares),
        }


def row(cell: CellResult, runs: Mapping[int, tuple[RunRecord, Totals]]) -> Row:
    """The row of a cell; `runs` are its completed runs with the totals of their events (`Store.totals`), by id."""
    facts_by_run = {run: facts(*runs[run]) for run in cell.runs}
    seconds = dict.fromkeys(PHASES, 0.0)  # of all ranks together, over all repeats
    for times in filter(None, (fact.times for fact in facts_by_run.values())):
        seconds["compute"] += sum(times.compute)
        seconds["communicate"] += len(times.compute) * times.exchange
        seconds["wait"] += sum(times.waiting)
        seconds["input"] += sum(times.input)
    total = sum(seconds.values())
    shares = {phase: value / total for phase, value in seconds.items()} if total > 0 else {}
    if cell.run not in facts_by_run:
        return Row(cell, shares)
    waits = {run: waiting(runs[run][0]) for run in facts_by_run}
    late = {waited.late if waited else () for waited in waits.values()}
    middle, middle_waits = facts_by_run[cell.run], waits[cell.run]
    return Row(
        cell,
        shares,
        late.pop() if len(late) == 1 else (),
        middle_waits.sentence if middle_waits else "",
        tuple(middle.crowds),
        middle.cores,
    )


def compared(rows: Iterable[Row]) -> list[Row]:
    """The rows by ascending ranks, compared with the smallest number of ranks that was measured."""
    ordered = sorted(rows, key=lambda row: row.ranks)
    base = next((row for row in ordered if row.cell.rates), None)
    return [replace(row, base=base) for row in ordered]


def serial_share(rows: Sequence[Row], weak: bool) -> float | None:
    """The share of serial work with which a law fits the speed-ups best, by least squares; None without a speed-up.

    Amdahl's law is 1 / S = s + (1 - s) / n, Gustafson's, for `weak` scaling, S = n - s (n - 1). Both are linear in s.
    They assume a core for each rank, so rows without are left out.
    """
    measured = [(row.ideal, row.speed_up) for row in rows if row.speed_up and row.ideal > 1 and not row.crowds]
    pairs = [(n - 1, n - gain) if weak else (1 - 1 / n, 1 / gain - 1 / n) for n, gain in measured]
    squares = sum(x * x for x, _ in pairs)
    return min(max(sum(x * y for x, y in pairs) / squares, 0.0), 1.0) if pairs else None


def references(rows: Sequence[Row]) -> list[PublishedSpeedUp]:
    """The published speed-ups that fit beside these rows."""
    largest = max((row.ranks for row in rows), default=1) if rows and rows[0].ranks == 1 else 0
    return [published for published in PUBLISHED if published.workers <= largest]
