"""The loop of data-parallel training: steps in blocks, told at the end of each block, with the same number of steps
and the same decisions on every rank."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from workshop.engine.context import RankContext
from workshop.engine.training import step_report
from workshop.engine.training.batches import Batches
from workshop.engine.training.step_report import COUNT, SUMS, StepReporter

WARM = 2  # first steps of a run, which compile: told, but not measured
BLOCK = 0.5  # seconds of steps between two tellings, about
MOST_STEPS = 200  # steps of a block


class StepInput(NamedTuple):
    """The input of one step of this rank: the step's arguments, and the number of examples; 0 where the rank has no
    examples left and only takes part."""

    arguments: tuple[Any, ...]
    examples: int


Give = Callable[[int], StepInput]  # the number of a step among those that the loop is asked for -> what it works on

# Called with the arguments of one step, it returns float64 [2 + sums]: when the gradients were there and when they had
# been exchanged, in seconds since the epoch, and the sums that the step tells (see `step_report.SUMS`).
Step = Callable[..., NDArray[np.float64]]


class Loop:
    """Takes the steps of this rank. `updates` counts them, over all epochs and earlier runs."""

    def __init__(
        self,
        ctx: RankContext,
        step: Step,
        reporter: StepReporter,
        *,
        total: int,
        updates: int = 0,
        most: int | None = None,
        pace: float = 0.0,
        warm: int = WARM,
        trace: int = 0,
        on_trace: Callable[[bool], None] = lambda begins: None,
    ) -> None:
        """`total`: steps of the progress bar; `most`: steps after which to end; `pace`: least seconds per step;
        `warm`: first steps that aren't measured, at least `WARM`; `trace`: steps behind the first `WARM` whose marks
        are kept, `on_trace` is called before the first and behind the last of them."""
        self.ctx = ctx
        self.step = step
        self.reporter = reporter
        self.total = total
        self.updates = updates
        self.most = most
        self.pace = pace
        self.warm = warm
        self.trace = trace
        self.on_trace = on_trace
        self.done = 0  # steps of this run
        self.seconds = 0.0  # of training, without pauses; told at the end of each block
        self.reporting_seconds = 0.0
        self.stopped = False
        self._per_step: float | None = None  # seconds, the same on all ranks

    @property
    def over(self) -> bool:
        """Whether all steps have been taken, or the training has to end early."""
        return self.stopped or (self.most is not None and self.done >= self.most)

    def take(self, steps: int, give: Give, before: Callable[[int], None] = lambda number: None) -> bool:
        """Take so many steps (an epoch, or up to an evaluation), over which the loss is averaged. `before` is called
        with each step's number. Returns whether all steps were taken. Collective."""
        self.reporter.begin_epoch()
        steps_done = 0
        while steps_done < steps and not self.over:
            steps_done += self._block(steps_done, steps - steps_done, give, before)
        return steps_done == steps

    def _length(self, remaining: int) -> int:
        """Steps of the next block: what fits half a second, the warm-up and the kept steps by themselves."""
        length = min(remaining, MOST_STEPS)
        if self.most is not None:
            length = min(length, self.most - self.done)
        for boundary in (WARM, WARM + self.trace, self.warm):
            if self.done < boundary:
                length = min(length, boundary - self.done)
        if self._per_step is not None:
            length = min(length, max(int(BLOCK / max(self._per_step, self.pace, 1e-6)), 1))
        return length

    def _block(self, steps_done: int, remaining: int, give: Give, before: Callable[[int], None]) -> int:
        """Take some of the `remaining` steps, after `steps_done` ones. Returns how many were taken."""
        steps = self._length(remaining)
        recorded = self.trace > 0 and WARM <= self.done < WARM + self.trace
        if recorded and self.done == WARM:
            self.on_trace(True)
        rows = np.zeros((steps, self.reporter.columns))
        began, idle = time.perf_counter(), 0.0
        for number in range(steps):
            before(steps_done + number)
            self._step(steps_done + number, give, rows[number])
            if self.pace:
                idle += self._nap(rows[number])
        trained = time.perf_counter() - began - idle
        gathered = self.reporter.block(self.updates, rows, self.done >= self.warm, recorded)
        self.updates += steps
        self.done += steps
        self.ctx.progress(self.done, self.total)
        if self.done - steps < WARM <= self.done:
            self.ctx.activity("training")
        self.stopped = self.ctx.stop_requested()
        seconds = time.perf_counter() - began - idle
        self._per_step = float(step_report.step_seconds(gathered[..., :5]).max(axis=0).min())
        if self.done > self.warm:
            self.reporter.totals.seconds += seconds
        self.seconds += seconds
        self.reporting_seconds += seconds - trained
        if recorded and (self.done >= WARM + self.trace):
            self.on_trace(False)
        return steps

    def _step(self, number: int, give: Give, row: NDArray[np.float64]) -> None:
        """One step; puts its marks, how many examples there were and its sums into `row`, zeros."""
        row[step_report.BEGIN] = time.time()
        with self.ctx.phase("input", account=False):
            arguments, count = give(number)
        row[step_report.INPUT] = time.time()
        values = self.step(*arguments)
        row[step_report.GRADIENTS : step_report.UPDATED] = values[:2]
        row[step_report.UPDATED] = time.time()
        if count:
            row[COUNT], row[SUMS:] = count, values[2:]

    def _nap(self, row: NDArray[np.float64]) -> float:
        """Rest until the step has taken its pace; returns for how long. All ranks go on at the same moment."""
        began = time.perf_counter()
        time.sleep(max(self.pace - (row[step_report.UPDATED] - row[step_report.BEGIN]), 0.0))
        self.ctx.synchronise(account=False)
        return time.perf_counter() - began


Read = Callable[[NDArray[np.int64]], tuple[Any, Any]]  # positions among the rank's own examples -> inputs, labels


class StepReader:
    """The steps of a rank's epochs, for `Loop.take`: each is called with inputs, labels and a factor, see
    `step.supervised`. `alone`: gradients aren't exchanged."""

    def __init__(self, batches: Batches, rank: int, read: Read, alone: bool = False) -> None:
        self.batches = batches
        self.rank = rank
        self.read = read
        self.alone = alone
        self._together = batches.together()
        self.steps = len(self._together)  # of an epoch

    def epoch(self, epoch: int) -> Give:
        """The input of an epoch's steps."""
        order, batch = self.batches.epoch(epoch, self.rank), self.batches.batch

        def give(number: int) -> StepInput:
            positions = order[number * batch : (number + 1) * batch]
            count = len(positions)
            # A rank that has nothing left still takes part: with an example that doesn't count.
            inputs, labels = self.read(positions if count else np.zeros(1, np.int64))
            share = 1 / max(count, 1) if self.alone else self.batches.size / float(self._together[number])
            return StepInput((inputs, labels, share if count else 0.0), count)

        return give
