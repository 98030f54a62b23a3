"""The workload: each rank trains the network on its own images, and all average their gradients."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Mapping
from typing import Any

import numpy as np

from workshop.core import words
from workshop.engine.context import RankContext
from workshop.engine.data import shard
from workshop.engine.tensorflow import seed_training
from workshop.engine.training import training_run
from workshop.engine.training.exchange import Exchange
from workshop.engine.training.exchanges import ExchangeSettings
from workshop.engine.training.loop import Loop, StepReader
from workshop.engine.training.step import PerExample, evaluation, supervised
from workshop.engine.training.step_report import SUMS, StepCurve, StepReporter
from workshop.engine.training.training_run import OnTrace, digest, spread
from workshop.workloads.segmentation import overlap
from workshop.workloads.segmentation.overlays import Example, ScoredMask, sheet
from workshop.workloads.segmentation.task import AT_ONCE, DATA, FIGURES, PICTURE, chosen
from workshop.workloads.segmentation.unet import SUMMARY, unet
from workshop.workloads.unet import UnetParams, slices

BUCKET = 0.1  # MB, for the exchange mpi-overlap
TRACE = 30  # steps in the timeline
SCORES = ("loss", "Dice", "Jaccard")
CURVES = {"loss": StepCurve(SUMS), "Dice": StepCurve(SUMS + 1)}


def run(ctx: RankContext, params: UnetParams) -> Mapping[str, Any]:
    """Train on all ranks and tell what came out. Collective.

    Events of each step: `loss`, `Dice` and `total images/s` by rank 0, `images/s` and `time.*` by every rank; of each
    epoch: `held-out loss`, `held-out Dice` and `held-out Jaccard` by rank 0, `memory` by every rank. Artifacts:
    overlays.png, overlays.json, timeline.json.
    """
    settings = ExchangeSettings(params.exchange, bucket=BUCKET)
    return training_run.run(ctx, settings, lambda exchange, on_trace: UnetTraining(ctx, params, exchange, on_trace))


def network(params: UnetParams) -> Any:
    """The Keras network for images [n, size, size, 2], with random weights. It gives logits [n, size, size, 1]."""
    return unet(params.size, 2, params.attention, params.dropout_rates)


class HeldOutSlices:
    """The held-out images of this rank. Rank 0's first ones are also looked at."""

    def __init__(self, ctx: RankContext, params: UnetParams, model: Any, loss: PerExample) -> None:
        self.ctx = ctx
        self.tested = slices.held_out(params, range(*shard(params.evaluate_images, ctx.size, ctx.rank)))
        self._evaluate = evaluation(model, loss)
        self._logits = np.zeros((0, params.size, params.size, 1), np.float32)

    def score(self) -> list[float]:
        """Return the means of loss, Dice and Jaccard over all ranks' images. Collective."""
        sums, logits = np.zeros(4), [self._logits[:0]]
        for at in range(0, len(self.tested.masks), AT_ONCE):
            masks = self.tested.masks[at : at + AT_ONCE]
            losses, outputs = self._evaluate(self.tested.images[at : at + AT_ONCE], masks)
            scores = (losses, overlap.dice(masks, outputs), overlap.jaccard(masks, outputs), np.ones(len(masks)))
            sums += [np.sum(score, dtype=np.float64) for score in scores]
            logits.append(outputs)
        self._logits = np.concatenate(logits)
        *totals, number = np.sum(self.ctx.comm.allgather(sums), axis=0)
        return [float(total / number) for total in totals]

    def keep(self, epoch: int) -> None:
        """Keep what the last `score` made of some of this rank's patients: overlays.png and overlays.json."""
        images, masks = self.tested.images, self.tested.masks
        positions = chosen([int(mask.any()) for mask in masks])
        dice = overlap.dice(masks[positions], self._logits[positions]).numpy().tolist()
        scored = [ScoredMask(self._logits[at, ..., 0] > 0, score) for at, score in zip(positions, dice, strict=True)]
        shares = [float(masks[at].mean()) for at in positions]
        examples = [
            Example(
                images[at, ..., 0],
                images[at, ..., 1],
                masks[at, ..., 0] > 0,
                f"{words.quantity(100 * share, '%')} lesions",
            )
            for at, share in zip(positions, shares, strict=True)
        ]
        table = [{"share": share, "dice": score} for share, score in zip(shares, dice, strict=True)]
        self.ctx.artifact(PICTURE, sheet(examples, {"U-Net": scored}), "image/png")
        self.ctx.artifact(FIGURES, json.dumps({"epoch": epoch, "patients": table}).encode(), "application/json")


class UnetTraining:
    """One rank's network, images and epochs. All collective."""

    def __init__(self, ctx: RankContext, params: UnetParams, exchange: Exchange, on_trace: OnTrace) -> None:
        tf = seed_training(params.seed, ctx.rank)  # dropout leaves out other values on each rank
        self.ctx, self.params, self.exchange = ctx, params, exchange
        self.batches = slices.batches(params, ctx.size)
        self.model = network(params)
        optimizer = tf.keras.optimizers.Adam(params.rate)
        optimizer.build(self.model.trainable_variables)
        exchange.broadcast(self.model.weights)
        loss = overlap.loss_of(params.loss, params.alpha, params.beta)
        own_images = slices.training(params, self.batches.examples(ctx.rank))
        self.lesions, self.empty = _shares(ctx, own_images.masks)
        self.held_out = HeldOutSlices(ctx, params, self.model, loss)
        self.reading = StepReader(
            self.batches,
            ctx.rank,
            lambda positions: (tf.constant(own_images.images[positions]), tf.constant(own_images.masks[positions])),
            alone=exchange.name == "none",
        )
        self.loop = Loop(
            ctx,
            supervised(self.model, optimizer, loss, overlap.dice, exchange, self.batches.uneven),
            StepReporter(ctx, curves=CURVES),
            total=params.epochs * self.batches.steps,
            trace=TRACE,
            on_trace=on_trace,
        )
        self.seconds = {"evaluate": 0.0}
        self.memory = training_run.Resident(ctx)
        self.epoch = 0
        self.scores: list[float] = []  # of the last epoch, by `SCORES`
        self.to_target: tuple[float, int] | None = None  # seconds and epochs

    def conditions(self) -> dict[str, Any]:
        """The metrics that are known before the first step."""
        params = self.params
        switches = ["attention gates"] * params.attention + ["dropout"] * any(params.dropout_rates)
        extra = f", with {words.listed(switches)}" if switches else ""
        return {
            "data": f"{DATA}, {params.images} images of {params.size} × {params.size} pixels",
            "model": f"{SUMMARY}{extra}",
            "parameters": int(self.model.count_params()),
            "train_images": params.patients,
            "held_out_images": params.evaluate_images,
            "lesion_pixels": self.lesions,
            "empty_images": self.empty,
            "learning_rate": params.rate,
            "target": params.target,
            "shards": [len(self.batches.examples(rank)) for rank in range(self.ctx.size)],
        }

    def train(self) -> None:
        """Train until all epochs are done, a stop is asked for, or the loss is no number any more."""
        while self.epoch < self.params.epochs and not self.loop.over and self._finite:
            self.epoch += self.loop.take(self.reading.steps, self.reading.epoch(self.epoch))
            if not self.loop.stopped:
                self._test()

    @property
    def _finite(self) -> bool:
        return not self.loop.done or math.isfinite(self.loop.reporter.mean_loss)

    def _test(self) -> None:
        ctx, updates, began = self.ctx, self.loop.updates, time.perf_counter()
        with ctx.phase("evaluate"):
            self.scores = self.held_out.score()
        if self.to_target is None and self.scores[1] >= self.params.target:
            self.to_target = self.loop.seconds, self.epoch
        self.memory.tell(updates)
        if ctx.rank == 0:
            for name, value in zip(SCORES, self.scores, strict=True):
                ctx.emit(f"held-out {name}", value, updates)
            self.held_out.keep(self.epoch)
        ctx.end_step(updates)
        self.seconds["evaluate"] += time.perf_counter() - began

    def finish(self) -> dict[str, Any]:
        """The network's results, and what shows that all ranks hold the same one."""
        weights = self.model.trainable_variables
        return {
            "epochs": self.epoch,
            "loss": self.loop.reporter.mean_loss,
            "diverged": not self._finite,
            "time_to_target": self.to_target[0] if self.to_target else None,
            "epochs_to_target": self.to_target[1] if self.to_target else None,
            "memory": self.memory.of_all(),
            "spread": spread(self.ctx.comm, weights),
            "weights": self.ctx.comm.allgather(digest(weights)),
            **{f"held_out_{name.lower()}": value for name, value in zip(SCORES, self.scores, strict=False)},
        }


def _shares(ctx: RankContext, masks: Any) -> tuple[float, float]:
    """Of all ranks' masks: the share of the pixels that are lesions, and the share of the images without any."""
    shares = np.concatenate(ctx.comm.allgather(masks.mean(axis=(1, 2, 3))))
    return float(shares.mean()), float((shares == 0).mean())
