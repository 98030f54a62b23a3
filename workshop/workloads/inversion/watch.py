"""Events during the search: each rank's distance and likeness, and from rank 0 a picture of all results."""

from __future__ import annotations

import io
import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

from workshop.engine.context import RankContext
from workshop.workloads.inversion.attack import Digits, Pictures
from workshop.workloads.inversion.likeness import correlation, matched, psnr
from workshop.workloads.inversion.victim import Private
from workshop.workloads.mnist.data.digits import SIDE

SCALE = 3  # by which pixels are enlarged
COLUMNS, MOST = 8, 32  # digits beside each other, and in all
GAP, TEXT = 8, 18  # pixels
NAMES = 100  # pixels for the words beside the rows
INK, PAPER = 40, 255
WORDS = ("true", "recovered")


@dataclass(frozen=True)
class ImagePair:
    """An image and its recovered picture, [28, 28] from 0 (paper) to 1 (ink), with the words below them."""

    image: NDArray[np.float32]
    recovered: NDArray[np.float32]
    words: str


def draw_pairs(pairs: Sequence[ImagePair]) -> bytes:
    """A PNG of the first pairs: rows of true digits, each with the recovered ones and labels below."""
    pairs = pairs[:MOST]
    side = SIDE * SCALE
    rows = [pairs[at : at + COLUMNS] for at in range(0, len(pairs), COLUMNS)]
    height = 2 * (side + GAP) + TEXT + GAP
    width = NAMES + min(len(pairs), COLUMNS) * (side + GAP)
    canvas = Image.new("L", (width, max(len(rows), 1) * height), PAPER)
    pen, font = ImageDraw.Draw(canvas), ImageFont.load_default(14)
    for number, row in enumerate(rows):
        top = number * height + GAP // 2
        for below, word in enumerate(WORDS):
            pen.text((GAP, top + below * (side + GAP) + side // 2), word, INK, font, anchor="lm")
        for column, pair in enumerate(row):
            x = NAMES + column * (side + GAP)
            for below, pixels in enumerate((pair.image, pair.recovered)):
                canvas.paste(_enlarged(pixels), (x, top + below * (side + GAP)))
            pen.text((x + side // 2, top + 2 * (side + GAP)), pair.words, INK, font, anchor="ma")
    file = io.BytesIO()
    canvas.save(file, "PNG")
    return file.getvalue()


def _enlarged(pixels: NDArray[np.float32]) -> Image.Image:
    """Pixels stay sharp, ink is white as in the data."""
    grey = np.rint(255 * np.clip(np.nan_to_num(pixels), 0, 1)).astype(np.uint8)
    return Image.fromarray(np.kron(grey, np.ones((SCALE, SCALE), np.uint8)))


EVERY = 5  # iterations between two looks
SECONDS = 1.0  # at least between two pictures
RECOVERED = "recovered.png"


class SearchMonitor:
    """One rank's monitor. Ranks look together every few iterations until the last one has ended; a rank that is done
    still takes part. Making one and `end` are collective, and `look` is in every `EVERY`th iteration."""

    def __init__(self, ctx: RankContext, true: Private, total: int, pace: float = 0.0) -> None:
        self.ctx, self.true, self.total, self.pace = ctx, true, total, pace
        self.iterations, self.distance = 0, float("nan")
        self._told = -1  # iterations when it was told of them last
        self.stopped = False
        self.read: Digits = np.zeros(0, np.int32)  # what the pictures show, as far as the attacker can tell
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
        gathered = self.ctx.comm.gather((pictures, self.read))
        self._drawn = time.perf_counter()
        if gathered is None:
            return
        pairs = []
        for true, (recovered, read) in zip(self._everybody, gathered, strict=True):
            for number, at in enumerate(matched(true.images, recovered)):
                words = f"{true.labels[number]}, read {read[at]}"
                pairs.append(ImagePair(true.images[number][..., 0], recovered[at][..., 0], words))
        self.ctx.artifact(RECOVERED, draw_pairs(pairs), "image/png")
