"""How the ranks of a run spent their time: computing, moving data, reading input, and waiting for somebody slower."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from workshop.store.records import Total

Totals = Mapping[str, Mapping[int, Total]]  # by name of the events, and by rank
AS_QUICK = 1.05  # times the others' quickest step up to which a rank's quickest is as quick
PHASES = ("compute", "communicate", "wait", "input")


@dataclass(frozen=True)
class Balance:
    """Seconds of each rank, in rank order, over `steps` steps.

    A collective ends when the slowest rank arrives. So the least time of a rank in `communicate` counts as moving data,
    and what others took beyond that as waiting, like the phase `wait`."""

    compute: tuple[float, ...]
    exchange: float  # of each rank, moving data
    waiting: tuple[float, ...]
    input: tuple[float, ...]  # reading and preparing what a step works on
    steps: int
    are_separate: bool = True  # whether the ranks told the time of moving data; else it counts as computing
    least: tuple[float, ...] = ()  # seconds of each rank's quickest step of computing, and of its longest; empty where
    most: tuple[float, ...] = ()  # that isn't known

    @property
    def slowest(self) -> int:
        return max(range(len(self.compute)), key=lambda rank: self.compute[rank])

    @property
    def imbalance(self) -> float:
        """Load imbalance, the most computing rank over the mean, less one: 0 is perfect, 1 means that one rank has
        twice its share (Pearce et al., Quantifying the effectiveness of load balance algorithms, ICS 2012)."""
        mean = fmean(self.compute)
        return max(self.compute) / mean - 1 if mean > 0 else 0.0

    @property
    def disturbed(self) -> bool:
        """Whether the slowest rank was as quick as the others in its quickest step, so that it is some steps that took
        longer, and not the rank. False where that isn't known."""
        others = [seconds for rank, seconds in enumerate(self.least) if rank != self.slowest]
        return self.steps > 1 and bool(others) and self.least[self.slowest] <= AS_QUICK * fmean(others)

    @property
    def compute_per_step(self) -> float:
        """Of a rank, on average."""
        return fmean(self.compute) / self.steps

    @property
    def lag(self) -> float:
        """By how much the slowest rank's compute time exceeds the mean of the others', as a share of the latter."""
        others = [seconds for rank, seconds in enumerate(self.compute) if rank != self.slowest]
        mean = fmean(others) if others else 0.0
        return self.compute[self.slowest] / mean - 1 if mean > 0 else 0.0

    @property
    def total(self) -> float:
        """Seconds of all ranks together."""
        return sum(self.compute) + len(self.compute) * self.exchange + sum(self.waiting) + sum(self.input)

    def _share(self, seconds: float) -> float:
        return seconds / self.total if self.total > 0 else 0.0

    @property
    def exchange_share(self) -> float:
        return self._share(len(self.compute) * self.exchange)

    @property
    def waiting_share(self) -> float:
        return self._share(sum(self.waiting))

    @property
    def input_share(self) -> float:
        return self._share(sum(self.input))

    @property
    def waste(self) -> float:
        """The share of the time that perfect balance would save: the slowest rank's excess over the mean compute."""
        longest = max(map(sum, zip(self.compute, self.waiting, self.input, strict=True))) + self.exchange
        return (max(self.compute) - fmean(self.compute)) / longest if longest > 0 else 0.0


def balance(totals: Totals, ranks: int, metrics: Mapping[str, Any] | None = None) -> Balance | None:
    """The times that the events `time.<phase>` tell; None without compute time. A run's own `phases`, sums over the
    measured steps, come first: events also contain the first steps, in which TensorFlow compiles."""
    totals = _measured(metrics or {}, ranks) or totals
    compute = totals.get("time.compute") or {}
    if not compute or ranks < 1:
        return None

    def seconds(name: str) -> list[float]:
        totals_of_ranks = totals.get(name) or {}
        return [max(totals_of_ranks[rank].sum, 0.0) if rank in totals_of_ranks else 0.0 for rank in range(ranks)]

    communicate = seconds("time.communicate")
    exchange = min(communicate)
    steps = [(total.least, total.most) for rank in range(ranks) if (total := compute.get(rank))]
    extremes = [(least, most) for least, most in steps if least is not None and most is not None]
    least, most = zip(*extremes, strict=True) if len(extremes) == ranks else ((), ())
    return Balance(
        tuple(seconds("time.compute")),
        exchange,
        tuple(waited + spent - exchange for waited, spent in zip(seconds("time.wait"), communicate, strict=True)),
        tuple(seconds("time.input")),
        max(total.number for total in compute.values()),
        bool(totals.get("time.communicate")),
        least,
        most,
    )


def _measured(metrics: Mapping[str, Any], ranks: int) -> Totals | None:
    """A run's own sums in the form of its events' totals."""
    phases, steps = metrics.get("phases"), metrics.get("measured_steps")
    if not phases or not steps or any(len(phases.get(name, ())) != ranks for name in PHASES):
        return None
    return {f"time.{name}": {rank: Total(steps, sums) for rank, sums in enumerate(phases[name])} for name in PHASES}
