"""Reports of steps: gathered from all ranks block by block, sent as events, added up for the run's metrics."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from workshop.engine.context import RankContext
from workshop.engine.training import measure

# A step's row: the five marks of `measure`, how many examples the rank had, then the sums that its step tells.
COUNT, SUMS = 5, 6
CENSUS = 1.0  # seconds between two looks at the threads, at least


class StepCurve(NamedTuple):
    """An event of a step: the sum of one column over all ranks' rows, divided by the sum of another column."""

    sum: int
    over: int = COUNT


# What a supervised step tells: the sum of its losses, and how many examples were right.
SUPERVISED: Mapping[str, StepCurve] = {"loss": StepCurve(SUMS), "accuracy": StepCurve(SUMS + 1)}


@dataclass
class Totals:
    """Totals of the measured steps; the arrays have an element for each rank."""

    steps: int = 0
    seconds: float = 0.0  # of training, with what was done between steps
    examples: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))
    busy: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))  # seconds in steps
    phases: dict[str, NDArray[np.float64]] = field(default_factory=dict)
    last: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    late: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))
    step_examples: list[NDArray[np.float64]] = field(default_factory=list)
    step_seconds: list[NDArray[np.float64]] = field(default_factory=list)
    own_examples: list[NDArray[np.float64]] = field(default_factory=list)  # [ranks, steps] of each block
    own_seconds: list[NDArray[np.float64]] = field(default_factory=list)

    def speed(self) -> measure.Speed | None:
        """Examples per second over all ranks."""
        if not self.steps:
            return None
        return measure.speed(np.concatenate(self.step_examples), np.concatenate(self.step_seconds), self.seconds)

    def speeds(self) -> list[measure.Speed] | None:
        """Examples per second of each rank, within its steps."""
        if not self.steps:
            return None
        counts, seconds = np.concatenate(self.own_examples, axis=1), np.concatenate(self.own_seconds, axis=1)
        speeds_of_ranks = [measure.speed(*pair, pair[1].sum()) for pair in zip(counts, seconds, strict=True)]
        return [rate for rate in speeds_of_ranks if rate is not None] if all(speeds_of_ranks) else None


class StepReporter:
    """Gathers what all ranks' steps were, tells it, and keeps the totals. Collective, like the loop that calls it."""

    def __init__(
        self, ctx: RankContext, average: bool = True, curves: Mapping[str, StepCurve] = SUPERVISED, sums: int = 2
    ) -> None:
        """`average`: curves are of all ranks, not of rank 0 alone; `sums`: how many of them a step tells. The first of
        the `curves` is the loss."""
        size = ctx.size
        self.ctx = ctx
        self.average = average
        self.curves = dict(curves)
        self.columns = SUMS + sums  # of a step's row
        self.totals = Totals(
            examples=np.zeros(size),
            busy=np.zeros(size),
            phases={name: np.zeros(size) for name in ("input", "compute", "communicate", "wait")},
            last=np.zeros(size, np.int64),
            late=np.zeros(size),
        )
        self.first_loss = self.highest_loss = float("nan")  # of a step, over all examples that count
        self.kept: list[NDArray[np.float64]] = []  # marks of the steps of which the timeline is kept
        self.begin_epoch()

    def block(self, first: int, rows: NDArray[np.float64], measured: bool, keep: bool) -> NDArray[np.float64]:
        """Add some steps of this rank, float64 [steps, columns]; `first` is the first one's number. Returns the steps
        of all ranks, [ranks, steps, columns]."""
        gathered = np.empty((self.ctx.size, *rows.shape))
        with self.ctx.phase("wait", account=False):
            self.ctx.comm.Allgather(np.ascontiguousarray(rows), gathered)
        marks = gathered[..., :5]
        parts = measure.phases(marks)
        if measured:
            self._add(gathered, parts)
        if keep:
            self.kept.append(marks)
        self._tell_all(first, gathered, measured)
        if measured:
            self._tell_mine(first, gathered[self.ctx.rank], parts)
            self.ctx.threads.look(CENSUS)
        else:
            self.ctx.threads.begin()
        return gathered

    def _add(self, gathered: NDArray[np.float64], parts: measure.Phases) -> None:
        totals, seconds = self.totals, measure.step_seconds(gathered[..., :5])
        totals.steps += gathered.shape[1]
        totals.examples += gathered[..., COUNT].sum(axis=1)
        totals.busy += seconds.sum(axis=1)
        for name, added in totals.phases.items():
            added += getattr(parts, name).sum(axis=1)
        np.add.at(totals.last, parts.last, 1)
        np.add.at(totals.late, parts.last, parts.late)
        totals.step_examples.append(gathered[..., COUNT].sum(axis=0))
        totals.step_seconds.append(seconds.max(axis=0))
        totals.own_examples.append(gathered[..., COUNT])
        totals.own_seconds.append(seconds)

    def _tell_all(self, first: int, gathered: NDArray[np.float64], measured: bool) -> None:
        """Rank 0 tells of all ranks; without averaging its loss and accuracy are its own. No speed of steps that
        compile: it would be all that one sees of a curve."""
        counted = gathered if self.average else gathered[:1]
        parts = {name: [counted[..., column].sum(axis=0) for column in curve] for name, curve in self.curves.items()}
        for name, (sums, over) in parts.items():
            self._since[name] += sums.sum(), over.sum()
        sums, over = next(iter(parts.values()))
        losses = sums[over > 0] / over[over > 0]
        if len(losses) and np.isnan(self.first_loss):
            self.first_loss = float(losses[0])
        self.highest_loss = float(np.fmax.reduce(losses, initial=self.highest_loss))
        if self.ctx.rank != 0:
            return
        examples = gathered[..., COUNT].sum(axis=0)
        longest = measure.step_seconds(gathered[..., :5]).max(axis=0)
        for number in range(gathered.shape[1]):
            at, step = gathered[0, number, measure.UPDATED], first + number
            for name, (sums, over) in parts.items():
                if over[number]:
                    self.ctx.emit(name, sums[number] / over[number], step, at)
            if measured:
                self.ctx.emit("total images/s", examples[number] / longest[number], step, at)

    def _tell_mine(self, first: int, rows: NDArray[np.float64], parts: measure.Phases) -> None:
        rank, seconds = self.ctx.rank, measure.step_seconds(rows[..., :5])
        for number in range(len(rows)):
            at, step = rows[number, measure.UPDATED], first + number
            self.ctx.emit("images/s", rows[number, COUNT] / seconds[number], step, at)
            for name in ("input", "compute", "communicate", "wait"):
                self.ctx.account(name, getattr(parts, name)[rank, number], step, at)

    def begin_epoch(self) -> None:
        self._since = {name: np.zeros(2) for name in self.curves}  # sum, and what to divide it by

    @property
    def means(self) -> dict[str, float]:
        """The mean of each curve since the epoch began, over all ranks; NaN without any values."""
        return {name: float(total / over) if over else float("nan") for name, (total, over) in self._since.items()}

    @property
    def mean_loss(self) -> float:
        """The mean loss of the examples since the epoch began, over all ranks; NaN without any."""
        return next(iter(self.means.values()))


def as_list(values: Any) -> list[float]:
    """An array as metrics carry it."""
    return [float(value) for value in values]
