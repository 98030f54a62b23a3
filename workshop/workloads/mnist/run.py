"""The workload: what a rank does in a run, from the images to the metrics."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Mapping
from typing import Any

import numpy as np

from workshop.engine.context import RankContext
from workshop.engine.tensorflow import seed_training, tensorflow
from workshop.engine.training import checkpoint, checkpoint_writer, optimizer, training_run
from workshop.engine.training.checkpoint_writer import CheckpointWriter
from workshop.engine.training.exchange import Exchange
from workshop.engine.training.exchanges import ExchangeSettings
from workshop.engine.training.loop import Loop, StepReader
from workshop.engine.training.step import supervised
from workshop.engine.training.step_report import StepReporter
from workshop.engine.training.training_run import OnTrace, average, digest, spread
from workshop.workloads.mnist import MnistParams, models
from workshop.workloads.mnist.data import images
from workshop.workloads.mnist.heldout import MnistHeldOut, MnistScore, as_inputs

DIVERGED = 10 * math.log(models.CLASSES)  # a mean loss ten times that of guessing: it won't come back
RECIPE = ("rate", "scale", "warmup", "shard", "divide")  # what decides on the weights that come out


def run(ctx: RankContext, params: MnistParams) -> Mapping[str, Any]:
    """Train on all ranks and tell what came out. Collective.

    Events of each step: `loss`, `accuracy` and `total images/s` by rank 0, `images/s` and `time.*` by every rank; of
    each epoch: `held-out loss`, `held-out accuracy`, `spread` and `learning rate` by rank 0, `memory` by every rank.
    Artifacts: checkpoint.npz with the older ones, timeline.json, misclassified.json.
    """
    settings = ExchangeSettings(params.exchange, params.compression, params.keep, params.bucket)
    # Ranks that overwrite each other's checkpoints keep no older ones: what stays is the mistake that is shown.
    with CheckpointWriter(ctx, () if params.checkpoint == "every-rank" else checkpoint.FORMER) as writer:
        return training_run.run(
            ctx, settings, lambda exchange, on_trace: MnistTraining(ctx, params, exchange, on_trace, writer)
        )


class MnistTraining:
    """One rank's training: a model, its data, and the steps of the recipe that are switched on. All collective."""

    def __init__(
        self, ctx: RankContext, params: MnistParams, exchange: Exchange, on_trace: OnTrace, writer: CheckpointWriter
    ) -> None:
        seed_training(params.seed, ctx.rank)
        self.ctx, self.params, self.exchange, self.writer = ctx, params, exchange, writer
        self.images = images.read(ctx.inputs)
        self.batches = params.batches(len(self.images.train_labels), ctx.size)
        self.model = models.build(params.model, ctx.inputs)
        self.rate = params.rate or models.RATES[params.optimizer]
        self.full_rate = optimizer.scaled(self.rate, ctx.size * params.accumulate, params.scale)
        self.optimizer = models.optimizer_of(params.optimizer, self.rate)
        self.optimizer.build(self.model.trainable_variables)
        self.epoch, update, self.seconds = 0, 0, {"evaluate": 0.0, "checkpoint": 0.0, "earlier": 0.0}
        self.step = 0  # of the epoch, where training begins
        self.to_target: tuple[float, int] | None = None  # seconds and epochs, those of earlier runs counted in
        self.resumed = None
        if checkpoint.NAME in ctx.inputs:
            saved = checkpoint.unpack(ctx.inputs[checkpoint.NAME])
            checkpoint.restore(self.model, self.optimizer, saved)
            self.epoch, update = saved.progress["epoch"], saved.progress["update"]
            self.seconds["earlier"] = float(saved.progress.get("seconds", 0.0))  # of training, in earlier runs
            seconds, epochs = saved.progress.get("to_target") or (None, None)
            if saved.progress.get("target") == params.target and seconds is not None:
                self.to_target = float(seconds), int(epochs or 0)
            now, former = self._setting(), saved.progress
            differs = [name for name, value in now.items() if name in former and former[name] != value]
            step = saved.progress.get("step", 0)
            # With other settings, the same step may be another part of the data: the epoch begins anew.
            self.step = step if not differs and step < self.batches.steps else 0
            self.resumed = {"epoch": self.epoch, "update": update, "differs": differs}
        self.spread_before = spread(ctx.comm, self.model.trainable_variables)
        if params.broadcast:
            exchange.broadcast(self.model.weights)
            exchange.broadcast(self.optimizer.variables)
        self.spread = spread(ctx.comm, self.model.trainable_variables)
        loss = models.loss_of(self.model)
        self.held_out = MnistHeldOut(ctx.comm, self.images, self.model, loss)
        self.reporter = StepReporter(ctx, params.average)
        remaining = (params.epochs - self.epoch) * self.batches.steps - self.step
        self.reading = StepReader(self.batches, ctx.rank, self._reader(), alone=exchange.name == "none")
        self.loop = Loop(
            ctx,
            supervised(
                self.model, self.optimizer, loss, models.correct, exchange, self.batches.uneven, params.accumulate
            ),
            self.reporter,
            total=min(remaining, params.steps or remaining),
            updates=update,
            most=params.steps,
            pace=params.pace,
            trace=params.trace,
            on_trace=on_trace,
        )
        self.score: MnistScore | None = None
        self.resumed_at = update
        damage = ctx.inputs.get(checkpoint.NOTICE, b"").decode()
        self.notices = [damage] if damage else []
        self.memory = training_run.Resident(ctx)
        self.diverged = False
        if ctx.rank == 0:
            ctx.emit("spread", self.spread, update)

    def _reader(self) -> Any:
        """Batches as tensors, from this rank's own images."""
        tf = tensorflow()
        own_images = self.batches.examples(self.ctx.rank)
        pictures = as_inputs(self.images.train_images[own_images])
        labels = self.images.train_labels[own_images].astype(np.int32)
        return lambda positions: (tf.constant(pictures[positions]), tf.constant(labels[positions]))

    def _set_rate(self, number: int) -> None:
        """The rate for a step of this epoch."""
        passed = self.epoch + number / self.reading.steps
        rate = optimizer.warmed_up(self.rate, self.full_rate, self.params.warmup, passed)
        if rate != self._rate_now:
            self._rate_now = rate
            self.optimizer.learning_rate = rate
            if self.ctx.rank == 0:
                self.ctx.emit("learning rate", rate, self.loop.updates)

    _rate_now = math.nan

    def train(self) -> None:
        """Train until all epochs are done, a stop is asked for, or the loss has grown beyond all bounds."""
        while self.epoch < self.params.epochs and not self.loop.over and not self.diverged:
            complete = self._take_epoch()
            self.epoch += complete
            self.diverged = not self.reporter.mean_loss < DIVERGED  # also where it is no number
            if not self.loop.stopped:
                self._after_epoch(complete)

    def _take_epoch(self) -> bool:
        """Take the steps of this epoch, those that an earlier run has taken left out; the loss is the mean over the
        others. Returns whether all were taken."""
        skipped, self.step = self.step, 0
        begin, give = self.loop.updates - skipped, self.reading.epoch(self.epoch)

        def before(number: int) -> None:
            step = skipped + number
            self._set_rate(step)
            self._checkpoint_within(step, begin + step)

        return self.loop.take(self.reading.steps - skipped, lambda number: give(skipped + number), before)

    def _checkpoint_within(self, step: int, update: int) -> None:
        """Save a checkpoint before this step of the epoch if it is time for one."""
        every = self.params.checkpoint_every
        if self.params.checkpoint != "off" and every and update % every == 0 and update > self.resumed_at:
            self._average_moving()
            self._save_checkpoint(step, update)

    def _average_moving(self) -> None:
        """Give all ranks the means of the variables that have no gradient."""
        if self.exchange.name != "none" and self.ctx.size > 1:
            average(self.ctx.comm, self.model.non_trainable_variables)

    def _after_epoch(self, complete: bool) -> None:
        ctx = self.ctx
        began = time.perf_counter()
        self._average_moving()
        with ctx.phase("evaluate"):
            self.score = self.held_out.score()
        accuracy = self.score.accuracy if self.params.average else self.score.accuracies[0]
        if self.to_target is None and accuracy >= self.params.target:
            self.to_target = self.seconds["earlier"] + self.loop.seconds, self.epoch
        self.seconds["evaluate"] += time.perf_counter() - began
        last = self.epoch == self.params.epochs
        if complete and self.params.checkpoint != "off" and (last or not self.params.checkpoint_every):
            self._save_checkpoint(0, self.loop.updates)
        ctx.end_step(self.loop.updates)
        if not self.params.average:
            ctx.emit("held-out loss", self.score.losses[ctx.rank], self.loop.updates)
            ctx.emit("held-out accuracy", self.score.accuracies[ctx.rank], self.loop.updates)
        self.spread = spread(ctx.comm, self.model.trainable_variables)
        self.memory.tell(self.loop.updates)
        if ctx.rank == 0:
            ctx.emit("spread", self.spread, self.loop.updates)
            if self.params.average:
                ctx.emit("held-out loss", self.score.loss, self.loop.updates)
                ctx.emit("held-out accuracy", self.score.accuracy, self.loop.updates)

    def _save_checkpoint(self, step: int, update: int) -> None:
        """Rank 0 writes the checkpoint of what comes before this step of the epoch. With the switch off all ranks do,
        under one name, and the last one stays."""
        if self.params.checkpoint != "every-rank" and self.ctx.rank != 0:
            return
        progress = {
            "epoch": self.epoch,
            "step": step,
            "update": update,
            "seconds": self.seconds["earlier"] + self.loop.seconds,
            "target": self.params.target,
            "to_target": self.to_target,
            **self._setting(),
        }
        self.writer.save(lambda: checkpoint.capture(self.model, self.optimizer, progress))

    def _setting(self) -> dict[str, Any]:
        """The settings that have to stay the same, so that a continued run ends like an uninterrupted one."""
        return {
            "ranks": self.ctx.size,
            "seed": self.params.seed,
            "batch": self.params.batch,
            "digest": self.images.digest,
            "images": self.batches.count,
            **{name: getattr(self.params, name) for name in RECIPE},
            "exchange": self.exchange.name == "none",
            "accumulate": self.params.accumulate,
        }

    def conditions(self) -> dict[str, Any]:
        """The metrics that are known before the first step."""
        return {
            "data": self.images.words,
            "data_digest": self.images.digest,
            "train_images": self.batches.count,
            "held_out_images": len(self.images.held_out_labels),
            "model": self.params.model,
            "parameters": int(self.model.count_params()),
            "shards": [len(self.batches.examples(rank)) for rank in range(self.ctx.size)],
            "target": self.params.target,
            "learning_rate": self.full_rate,
            "spread_before": self.spread_before,
            "distinct_images": self.batches.distinct(0),
            "resumed": self.resumed,
        }

    def finish(self) -> dict[str, Any]:
        """The network's results, and the artifacts of the end. The same on all ranks, except for rank 0's own data."""
        ctx, params, score = self.ctx, self.params, self.score
        self.writer.flush()
        self.seconds["checkpoint"] = self.writer.blocked + self.writer.flushing
        if self.writer.notice:
            self.notices.append(self.writer.notice)
        wrong, misreadings = self.held_out.misclassified() if score is not None else (None, [])
        if ctx.rank == 0 and score is not None:
            ctx.artifact("misclassified.json", json.dumps(misreadings).encode(), "application/json")
        metrics: dict[str, Any] = {
            "epochs": self.epoch,
            "diverged": self.diverged,
            "loss": self.reporter.mean_loss,
            "time_to_target": self.to_target[0] if self.to_target else None,
            "epochs_to_target": self.to_target[1] if self.to_target else None,
            "memory": self.memory.of_all(),
            "spread": self.spread,
            "weights": ctx.comm.allgather(digest(self.model.trainable_variables)),
            "images_read": sum(self.batches.reads(rank) for rank in range(ctx.size)),
            "checkpoints": checkpoint_writer.totals(self.writer, params.checkpoint_every or self.reading.steps),
        }
        if self.notices:
            metrics["notices"] = self.notices
        if score is not None:
            metrics |= {
                "misclassified": wrong,
                "confusion": self.held_out.confusion(),
                "held_out_loss": score.loss if params.average else score.losses[0],
                "held_out_accuracy": score.accuracy if params.average else score.accuracies[0],
                "held_out_accuracy_ranks": score.accuracies,
            }
        return metrics
