"""How well the network outlines lesions of patients that it was not trained on: each rank looks at its share."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import numpy as np

from workshop.engine.context import RankContext
from workshop.engine.data.shards import shard
from workshop.engine.training.step import PerExample, evaluation
from workshop.workloads.segmentation import overlap
from workshop.workloads.segmentation.overlays import Example, ScoredMask, sheet
from workshop.workloads.segmentation.task import AT_ONCE, FIGURES, PICTURE, chosen
from workshop.workloads.unet import UnetParams, slices


@dataclass(frozen=True)
class OutlineScore:
    """Means over all held-out images."""

    loss: float
    dice: float
    jaccard: float


class HeldOutSlices:
    """The held-out images of this rank. Rank 0's first ones are also looked at."""

    def __init__(self, ctx: RankContext, params: UnetParams, model: Any, loss: PerExample) -> None:
        self.ctx = ctx
        self.tested = slices.held_out(params, range(*shard(params.evaluate_images, ctx.size, ctx.rank)))
        self._evaluate = evaluation(model, loss)
        self._logits = np.zeros((0, params.size, params.size, 1), np.float32)

    def score(self) -> OutlineScore:
        """Test the network on all ranks' images. Collective."""
        sums, logits = np.zeros(4), [self._logits[:0]]
        for at in range(0, len(self.tested.masks), AT_ONCE):
            masks = self.tested.masks[at : at + AT_ONCE]
            losses, outputs = self._evaluate(self.tested.images[at : at + AT_ONCE], masks)
            scores = (losses, overlap.dice(masks, outputs), overlap.jaccard(masks, outputs), np.ones(len(masks)))
            sums += [np.sum(score, dtype=np.float64) for score in scores]
            logits.append(outputs)
        self._logits = np.concatenate(logits)
        *totals, number = np.sum(self.ctx.comm.allgather(sums), axis=0)
        return OutlineScore(*(float(total / number) for total in totals))

    def keep(self, epoch: int) -> None:
        """Keep what the last `score` made of some of this rank's patients: overlays.png and overlays.json."""
        images, masks = self.tested.images, self.tested.masks
        positions = chosen([int(mask.any()) for mask in masks])
        dice = overlap.dice(masks[positions], self._logits[positions]).numpy().tolist()
        scored = [ScoredMask(self._logits[at, ..., 0] > 0, score) for at, score in zip(positions, dice, strict=True)]
        shares = [float(masks[at].mean()) for at in positions]
        examples = [
            Example(images[at, ..., 0], images[at, ..., 1], masks[at, ..., 0] > 0, f"{100 * share:.1f} % lesions")
            for at, share in zip(positions, shares, strict=True)
        ]
        table = [{"share": share, "dice": score} for share, score in zip(shares, dice, strict=True)]
        self.ctx.artifact(PICTURE, sheet(examples, {"U-Net": scored}), "image/png")
        self.ctx.artifact(FIGURES, json.dumps({"epoch": epoch, "patients": table}).encode(), "application/json")
