"""What is told while ranks search: each its distance and its likeness, and rank 0 a picture of all."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workshop.engine.context import RankContext
from workshop.workloads.inversion.attack import Digits, Pictures
from workshop.workloads.inversion.likeness import correlation, matched, psnr
from workshop.workloads.inversion.pictures import ImagePair, drawn
from workshop.workloads.inversion.victim import Private

EVERY = 5  # iterations between two looks
SECONDS = 1.0  # at least between two pictures
RECOVERED = "recovered.png"


class SearchMonitor:
    """One rank's. Ranks look together every few iterations until the last one has ended; who is done before the others
    takes part in their looks. To make one and `end` are collective, and `look` is in every `EVERY`th iteration."""

    def __init__(self, ctx: RankContext, true: Private, total: int, pace: float = 0.0) -> None:
        self.ctx, self.true, self.total, self.pace = ctx, true, total, pace
        self.iterations, self.distance = 0, float("nan")
        self._told = -1  # iterations when it was told of them last
        self.stopped = False
        self._read: Digits = np.zeros(0, np.int32)
        self._everybody: list[Private] = ctx.comm.allgather(true)
        self._since = self._looked = time.perf_counter()
        self._drawn = -SECONDS

    def look(self, iterations: int, distance: float, pictures: Pictures) -> bool:
        """Shown an iteration's pictures; says whether to go on."""
        self.iterations, self.distance = iterations, distance
        if iterations % EVERY == 0:
            self._tell(pictures)
            self._together(pictures, over=False)
        return not self.stopped

    def knows(self, read: Digits) -> None:
        """The digits that the pictures show, as far as the attacker can tell."""
        self._read = read

    def end(self, pictures: Pictures) -> None:
        """Wait for the others, and keep the last picture."""
        if self._told != self.iterations:
            self._tell(pictures)
        while not self._together(pictures, over=True):
            pass
        self.ctx.end_step(self.iterations)
        self._draw(pictures)
        if not self.stopped:
            self.ctx.progress(self.total, self.total)

    def _tell(self, pictures: Pictures) -> None:
        now, self._told = time.perf_counter(), self.iterations
        self.ctx.account("compute", now - self._since, self.iterations, time.time())
        self._since = now
        pairs = list(zip(self.true.images, pictures[matched(self.true.images, pictures)], strict=True))
        self.ctx.emit("distance", self.distance, self.iterations)
        self.ctx.emit("likeness", float(np.mean([psnr(*pair) for pair in pairs])), self.iterations)
        self.ctx.emit("correlation", float(np.mean([correlation(*pair) for pair in pairs])), self.iterations)

    def _together(self, pictures: Pictures, over: bool) -> bool:
        """A look of all ranks; whether all are done. Collective."""
        ctx = self.ctx
        if not over:  # a rest, accounted to nothing
            time.sleep(max(self._looked + self.pace - time.perf_counter(), 0.0))
        with ctx.phase("wait"):
            ended = all(ctx.comm.allgather(over))
            self.stopped = ctx.stop_requested()
            due = ctx.comm.bcast(time.perf_counter() - self._drawn >= SECONDS)
        if due and not ended:
            self._draw(pictures)
        ctx.progress(self.iterations, self.total)
        if not over:
            ctx.end_step(self.iterations)
        self._looked = self._since = time.perf_counter()
        return ended

    def _draw(self, pictures: Pictures) -> None:
        """Rank 0 keeps a picture of all ranks' digits. Collective."""
        gathered = self.ctx.comm.gather((pictures, self._read))
        self._drawn = time.perf_counter()
        if gathered is None:
            return
        shown = []
        for true, (found, read) in zip(self._everybody, gathered, strict=True):
            for number, at in enumerate(matched(true.images, found)):
                words = f"{true.labels[number]}, read {read[at]}"
                shown.append(ImagePair(_flat(true.images[number]), _flat(found[at]), words))
        self.ctx.artifact(RECOVERED, drawn(shown), "image/png")


def _flat(image: NDArray[Any]) -> NDArray[Any]:
    return image[..., 0]
