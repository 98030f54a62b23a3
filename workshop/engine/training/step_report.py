"""Reports of steps: gathered from all ranks block by block, sent as events, added up for the run's metrics.

Measures from the clock of every step: phases, the last rank, images per second. Pure functions of arrays.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from workshop.engine.context import RankContext

# A step's row: the five marks of `Phases`, how many examples the rank had, then the sums that its step tells.
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
    step_losses: list[NDArray[np.float64]] = field(default_factory=list)  # NaN without examples that count
    own_examples: list[NDArray[np.float64]] = field(default_factory=list)  # [ranks, steps] of each block
    own_seconds: list[NDArray[np.float64]] = field(default_factory=list)

    def speed(self) -> Speed | None:
        """Examples per second over all ranks."""
        if not self.steps:
            return None
        return speed(np.concatenate(self.step_examples), np.concatenate(self.step_seconds), self.seconds)

    def speeds(self) -> list[Speed] | None:
        """Examples per second of each rank, within its steps."""
        if not self.steps:
            return None
        counts, seconds = np.concatenate(self.own_examples, axis=1), np.concatenate(self.own_seconds, axis=1)
        speeds_of_ranks = [speed(*pair, pair[1].sum()) for pair in zip(counts, seconds, strict=True)]
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
        parts = phases(marks)
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

    def _add(self, gathered: NDArray[np.float64], parts: Phases) -> None:
        totals, seconds = self.totals, step_seconds(gathered[..., :5])
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
        step_losses = np.divide(sums, over, out=np.full(len(sums), np.nan), where=over > 0)
        losses = step_losses[over > 0]
        if measured:
            self.totals.step_losses.append(step_losses)
        if len(losses) and np.isnan(self.first_loss):
            self.first_loss = float(losses[0])
        self.highest_loss = float(np.fmax.reduce(losses, initial=self.highest_loss))
        if self.ctx.rank != 0:
            return
        examples = gathered[..., COUNT].sum(axis=0)
        longest = step_seconds(gathered[..., :5]).max(axis=0)
        for number in range(gathered.shape[1]):
            at, step = gathered[0, number, UPDATED], first + number
            for name, (sums, over) in parts.items():
                if over[number]:
                    self.ctx.emit(name, sums[number] / over[number], step, at)
            if measured:
                self.ctx.emit("total images/s", examples[number] / longest[number], step, at)

    def _tell_mine(self, first: int, rows: NDArray[np.float64], parts: Phases) -> None:
        rank, seconds = self.ctx.rank, step_seconds(rows[..., :5])
        for number in range(len(rows)):
            at, step = rows[number, UPDATED], first + number
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


# Moments of a step on one rank, in seconds since the epoch.
BEGIN, INPUT, GRADIENTS, EXCHANGED, UPDATED = range(5)
Marks = NDArray[np.float64]  # [..., steps, 5]


@dataclass(frozen=True)
class Phases:
    """Seconds of each rank in each step; every array is float64 [ranks, steps].

    An exchange ends when the last rank arrives. The shortest time of a rank in it counts as moving data, and the
    other ranks' time beyond that as waiting. So hosts need no common clock.
    """

    input: NDArray[np.float64]
    compute: NDArray[np.float64]  # forward, backward and update
    communicate: NDArray[np.float64]
    wait: NDArray[np.float64]
    last: NDArray[np.int64]  # [steps]: the rank that came last
    late: NDArray[np.float64]  # [steps]: by how many seconds, against the next but last


def phases(marks: Marks) -> Phases:
    """The phases of steps from the marks of all ranks, float64 [ranks, steps, 5]."""
    in_exchange = np.maximum(marks[..., EXCHANGED] - marks[..., GRADIENTS], 0)
    least = in_exchange.min(axis=0)
    ordered = np.sort(in_exchange, axis=0)
    late = ordered[1] - ordered[0] if len(marks) > 1 else np.zeros(marks.shape[1])
    return Phases(
        input=marks[..., INPUT] - marks[..., BEGIN],
        compute=marks[..., GRADIENTS] - marks[..., INPUT] + marks[..., UPDATED] - marks[..., EXCHANGED],
        communicate=np.broadcast_to(least, in_exchange.shape),
        wait=in_exchange - least,
        last=in_exchange.argmin(axis=0),
        late=late,
    )


def step_seconds(marks: Marks) -> NDArray[np.float64]:
    """How long each rank took for each step, [ranks, steps]."""
    return marks[..., UPDATED] - marks[..., BEGIN]


def hidden(marks: Marks, transfers: Sequence[Sequence[tuple[float, float]]]) -> float | None:
    """The share of the ranks' transfers [(begin, end) in seconds since the epoch, by rank] during which the rank still
    computed gradients. `marks` are [ranks, steps, 5]. None without transfers."""
    total, overlapped = 0.0, 0.0
    for steps, moved in zip(marks, transfers, strict=True):
        for begin, end in moved:
            total += end - begin
            overlap = np.minimum(steps[:, GRADIENTS], end) - np.maximum(steps[:, INPUT], begin)
            overlapped += float(np.maximum(overlap, 0).sum())
    return overlapped / total if total > 0 else None


@dataclass(frozen=True)
class Speed:
    """Examples per second: total examples / total time, ± standard deviation of the steps' speeds / sqrt(steps), and
    jitter, 1.4826 times their median absolute deviation (the definitions of TensorFlow's tf_cnn_benchmarks)."""

    mean: float
    deviation: float
    jitter: float


def speed(examples: NDArray[np.float64], seconds: NDArray[np.float64], total_seconds: float) -> Speed | None:
    """The speed of steps that read `examples` [steps] in `seconds` [steps] each. `total_seconds` include the time
    between steps. None where nothing was measured."""
    if len(examples) == 0 or total_seconds <= 0 or (seconds <= 0).any():
        return None
    speeds = examples / seconds
    deviations = np.abs(speeds - np.median(speeds))
    return Speed(
        float(examples.sum() / total_seconds),
        float(speeds.std() / np.sqrt(len(speeds))),
        float(1.4826 * np.median(deviations)),
    )
