"""The loop of data-parallel training: steps in blocks, told at the end of each block, with the same number of steps
and the same decisions on every rank."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workshop.engine.context import RankContext
from workshop.engine.training import measure
from workshop.engine.training.batches import Batches
from workshop.engine.training.step import Step
from workshop.engine.training.telling import COLUMNS, COUNT, LOSS, RIGHT, Telling

WARM = 2  # first steps of a run, which compile: told, but not measured
BLOCK = 0.25  # seconds of steps between two tellings, about
MOST = 200  # steps of a block

Read = Callable[[NDArray[np.int64]], tuple[Any, Any]]  # positions among the rank's own examples -> inputs, labels


class Loop:
    """Trains on the batches of this rank. `updates` counts steps, over all epochs and earlier runs."""

    def __init__(
        self,
        ctx: RankContext,
        batches: Batches,
        read: Read,
        step: Step,
        telling: Telling,
        *,
        total: int,
        updates: int = 0,
        most: int | None = None,
        pace: float = 0.0,
        alone: bool = False,
        trace: int = 0,
        on_trace: Callable[[bool], None] = lambda begins: None,
    ) -> None:
        """`total`: steps that progress is told of; `most`: steps after which to end; `pace`: least seconds per step;
        `alone`: gradients aren't exchanged; `trace`: steps whose marks are kept, `on_trace` is called before the first
        and behind the last of them."""
        self.ctx = ctx
        self.batches = batches
        self.read = read
        self.step = step
        self.telling = telling
        self.total = total
        self.updates = updates
        self.most = most
        self.pace = pace
        self.alone = alone
        self.trace = trace
        self.on_trace = on_trace
        self.done = 0  # steps of this run
        self.seconds = 0.0  # of training, without pauses; told at the end of each block
        self.telling_seconds = 0.0
        self.stopped = False
        self._per_step: float | None = None  # seconds, the same on all ranks

    @property
    def over(self) -> bool:
        """Whether no further step is to be taken."""
        return self.stopped or (self.most is not None and self.done >= self.most)

    def epoch(self, epoch: int, rate: Callable[[float], None]) -> bool:
        """Train one epoch. `rate` is told before each step how many epochs have passed. Returns whether all of its
        steps were taken. Collective."""
        self.telling.begin_epoch()
        order = self.batches.epoch(epoch, self.ctx.rank)
        together = self.batches.together()
        taken = 0
        while taken < len(together) and not self.over:
            taken += self._block(epoch, taken, order, together, rate)
        return taken == len(together)

    def _length(self, left: int) -> int:
        """Steps of the next block: what fits a quarter of a second, the warm-up and the kept steps by themselves."""
        wanted = min(left, MOST)
        if self.most is not None:
            wanted = min(wanted, self.most - self.done)
        for boundary in (WARM, WARM + self.trace):
            if self.done < boundary:
                wanted = min(wanted, boundary - self.done)
        if self._per_step is not None:
            wanted = min(wanted, max(int(BLOCK / max(self._per_step, self.pace, 1e-6)), 1))
        return wanted

    def _block(
        self, epoch: int, taken: int, order: NDArray[np.int64], together: NDArray[np.int64], rate: Callable
    ) -> int:
        """Some steps of an epoch of which `taken` have been taken; returns how many."""
        steps = self._length(len(together) - taken)
        kept = self.trace > 0 and WARM <= self.done < WARM + self.trace
        if kept and self.done == WARM:
            self.on_trace(True)
        mine = np.zeros((steps, COLUMNS))
        began, idle = time.perf_counter(), 0.0
        for number in range(steps):
            at = taken + number
            rate(epoch + at / len(together))
            mine[number] = self._one(order[at * self.batches.batch : (at + 1) * self.batches.batch], together[at])
            if self.pace:
                idle += self._nap(mine[number])
        trained = time.perf_counter() - began - idle
        gathered = self.telling.block(self.updates, mine, self.done >= WARM, kept)
        self.updates += steps
        self.done += steps
        self.ctx.progress(self.done, self.total)
        self.stopped = self.ctx.stop_requested()
        whole = time.perf_counter() - began - idle
        self._per_step = float(measure.step_seconds(gathered[..., :5]).max(axis=0).min())
        if self.done > WARM:
            self.telling.totals.seconds += whole
        self.seconds += whole
        self.telling_seconds += whole - trained
        if kept and (self.done >= WARM + self.trace):
            self.on_trace(False)
        return steps

    def _one(self, positions: NDArray[np.int64], together: np.int64) -> NDArray[np.float64]:
        """One step; returns its marks, the sum of its losses, how many were right and how many there were."""
        row = np.empty(COLUMNS)
        row[measure.BEGIN] = time.time()
        count = len(positions)
        # A rank that has nothing left still takes part: with an example that doesn't count.
        inputs, labels = self.read(positions if count else np.zeros(1, np.int64))
        row[measure.INPUT] = time.time()
        share = 1 / max(count, 1) if self.alone else self.ctx.size / float(together)
        told = self.step(inputs, labels, share if count else 0.0)
        loss, right, row[measure.GRADIENTS], row[measure.EXCHANGED] = told
        row[measure.UPDATED] = time.time()
        row[LOSS], row[RIGHT], row[COUNT] = (loss, right, count) if count else (0.0, 0.0, 0.0)
        return row

    def _nap(self, row: NDArray[np.float64]) -> float:
        """Rest until the step has taken its pace; returns for how long. All ranks go on at the same moment."""
        began = time.perf_counter()
        time.sleep(max(self.pace - (row[measure.UPDATED] - row[measure.BEGIN]), 0.0))
        self.ctx.comm.Barrier()
        return time.perf_counter() - began
