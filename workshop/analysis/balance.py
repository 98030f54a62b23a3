"""How the ranks of a run spent their time: computing, moving data, and waiting for somebody slower."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from statistics import fmean

Totals = Mapping[str, Mapping[int, tuple[int, float]]]  # name -> rank -> count, sum


@dataclass(frozen=True)
class Balance:
    """Seconds of each rank, in rank order, over `steps` steps.

    A collective ends when the slowest rank has come to it. So what all ranks spent in `communicate` is moving data,
    as much as the rank that spent least there; what others spent beyond that is waiting, like the phase `wait`.
    """

    compute: tuple[float, ...]
    exchange: float  # of each rank, moving data
    waiting: tuple[float, ...]
    steps: int

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
    def lag(self) -> float:
        """By how much the slowest rank's compute time exceeds the mean of the others', as a share of the latter."""
        others = [seconds for rank, seconds in enumerate(self.compute) if rank != self.slowest]
        mean = fmean(others) if others else 0.0
        return self.compute[self.slowest] / mean - 1 if mean > 0 else 0.0

    @property
    def total(self) -> float:
        """Seconds of all ranks together."""
        return sum(self.compute) + len(self.compute) * self.exchange + sum(self.waiting)

    @property
    def exchange_share(self) -> float:
        return len(self.compute) * self.exchange / self.total if self.total > 0 else 0.0

    @property
    def waiting_share(self) -> float:
        return sum(self.waiting) / self.total if self.total > 0 else 0.0

    @property
    def waste(self) -> float:
        """The share of the time that perfect balance would save: the slowest rank's excess over the mean compute."""
        longest = max(
            compute + self.exchange + waiting for compute, waiting in zip(self.compute, self.waiting, strict=True)
        )
        return (max(self.compute) - fmean(self.compute)) / longest if longest > 0 else 0.0


def balance(totals: Totals, ranks: int) -> Balance | None:
    """What the events `time.compute`, `time.communicate` and `time.wait` say; None where no compute time was told."""
    compute = totals.get("time.compute") or {}
    if not compute or ranks < 1:
        return None

    def seconds(name: str) -> list[float]:
        told = totals.get(name) or {}
        return [max(told.get(rank, (0, 0.0))[1], 0.0) for rank in range(ranks)]

    communicate = seconds("time.communicate")
    exchange = min(communicate)
    waiting = [waited + spent - exchange for waited, spent in zip(seconds("time.wait"), communicate, strict=True)]
    steps = max(count for count, _ in compute.values())
    return Balance(tuple(seconds("time.compute")), exchange, tuple(waiting), steps)
