"""The workload: what a rank does in a run, from the images to the metrics."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Mapping
from typing import Any

import numpy as np

from workshop.engine.context import LARGEST_ARTIFACT, RankContext
from workshop.engine.tensorflow import tensorflow
from workshop.engine.training import checkpoint, rates, report, training_run
from workshop.engine.training.exchange import Exchange
from workshop.engine.training.exchanges import ExchangeSettings
from workshop.engine.training.loop import Loop, StepReader
from workshop.engine.training.step import supervised
from workshop.engine.training.step_report import StepReporter
from workshop.engine.training.training_run import OnTrace
from workshop.engine.training.weights import average, digest, spread
from workshop.workloads.mnist import MnistParams, models
from workshop.workloads.mnist.data import images
from workshop.workloads.mnist.epochs import batches
from workshop.workloads.mnist.heldout import MnistHeldOut, MnistScore, as_inputs

DIVERGED = 10 * math.log(models.CLASSES)  # a mean loss ten times that of guessing: it won't come back
RECIPE = ("rate", "scale", "warmup", "shard", "divide")  # what decides on the weights that come out


def run(ctx: RankContext, params: MnistParams) -> Mapping[str, Any]:
    """Train on all ranks and tell what came out. Collective.

    Events of each step: `loss`, `accuracy` and `total images/s` by rank 0, `images/s` and `time.*` by every rank; of
    each epoch: `held-out loss`, `held-out accuracy`, `spread` and `learning rate` by rank 0, `memory` by every rank.
    Artifacts: checkpoint.npz, timeline.json, misclassified.json, with Horovod its own timeline.
    """
    settings = ExchangeSettings(params.exchange, params.compression, params.keep, params.bucket)
    return training_run.run(ctx, settings, lambda exchange, on_trace: MnistTraining(ctx, params, exchange, on_trace))


class MnistTraining:
    """One rank's training: a model, its data, and the steps of the recipe that are switched on. All collective."""

    def __init__(self, ctx: RankContext, params: MnistParams, exchange: Exchange, on_trace: OnTrace) -> None:
        tf = tensorflow()
        tf.keras.utils.clear_session()  # what an earlier run of this process has left
        # Ranks draw weights of their own, as processes do that don't know of each other.
        tf.keras.utils.set_random_seed((params.seed + 1_000_003 * ctx.rank) % 2**31)
        self.ctx, self.params, self.exchange = ctx, params, exchange
        self.images = images.read(ctx.inputs)
        self.batches = batches(params, len(self.images.train_labels), ctx.size)
        self.model = models.build(params.model, ctx.inputs)
        self.rate = params.rate or models.RATES[params.optimizer]
        self.full_rate = rates.scaled(self.rate, ctx.size * params.accumulate, params.scale)
        self.optimizer = models.optimizer_of(params.optimizer, self.rate)
        self.optimizer.build(self.model.trainable_variables)
        self.epoch, update, self.seconds = 0, 0, {"evaluate": 0.0, "checkpoint": 0.0, "earlier": 0.0}
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
            self.resumed = {"epoch": self.epoch, "update": update, "differs": differs}
        self.spread_before = spread(ctx.comm, self.model.trainable_variables)
        if params.broadcast:
            exchange.broadcast(self.model.weights)
            exchange.broadcast(self.optimizer.variables)
        self.spread = spread(ctx.comm, self.model.trainable_variables)
        loss = models.loss_of(self.model)
        self.held_out = MnistHeldOut(ctx.comm, self.images, self.model, loss)
        self.reporter = StepReporter(ctx, params.average)
        remaining = (params.epochs - self.epoch) * self.batches.steps
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
        self.written = {"written": 0, "kept": 0, "bytes": 0, "differ": False}
        self.too_large = False  # for checkpoints to be kept
        self.notices = [self.images.notice] if self.images.notice else []
        self.memory = report.Resident(ctx)
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
        rate = rates.warmed_up(self.rate, self.full_rate, self.params.warmup, passed)
        if rate != self._rate_now:
            self._rate_now = rate
            self.optimizer.learning_rate = rate
            if self.ctx.rank == 0:
                self.ctx.emit("learning rate", rate, self.loop.updates)

    _rate_now = math.nan

    def train(self) -> None:
        """Train until all epochs are done, a stop is asked for, or the loss has grown beyond all bounds."""
        while self.epoch < self.params.epochs and not self.loop.over and not self.diverged:
            complete = self.loop.take(self.reading.steps, self.reading.epoch(self.epoch), self._set_rate)
            self.epoch += complete
            self.diverged = not self.reporter.mean_loss < DIVERGED  # also where it is no number
            if not self.loop.stopped:
                self._after_epoch(complete)

    def _after_epoch(self, complete: bool) -> None:
        ctx = self.ctx
        began = time.perf_counter()
        if self.exchange.name != "none" and ctx.size > 1:
            average(ctx.comm, self.model.non_trainable_variables)
        with ctx.phase("evaluate"):
            self.score = self.held_out.score()
        accuracy = self.score.accuracy if self.params.average else self.score.accuracies[0]
        if self.to_target is None and accuracy >= self.params.target:
            self.to_target = self.seconds["earlier"] + self.loop.seconds, self.epoch
        evaluated_at = time.perf_counter()
        self.seconds["evaluate"] += evaluated_at - began
        stored = complete and self.params.checkpoint != "off" and self._keep_checkpoint()
        spent = time.perf_counter() - evaluated_at
        self.seconds["checkpoint"] += spent
        if stored:  # told of only where there is one to go on from
            ctx.account("checkpoint", spent, self.loop.updates, time.time())
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

    def _keep_checkpoint(self) -> bool:
        """Rank 0 writes the checkpoint. With the switch off all ranks do, under one name, and the last one stays.
        Returns whether it exists now."""
        if self.too_large:
            return False
        everybody = self.params.checkpoint == "every-rank"
        data, holds = b"", ""
        if everybody or self.ctx.rank == 0:
            progress = {
                "epoch": self.epoch,
                "update": self.loop.updates,
                "seconds": self.seconds["earlier"] + self.loop.seconds,
                "target": self.params.target,
                "to_target": self.to_target,
                **self._setting(),
            }
            captured = checkpoint.capture(self.model, self.optimizer, progress)
            data, holds = captured.pack(), captured.digest()
        gathered = self.ctx.comm.allgather((len(data), holds))
        self.too_large = max(size for size, _ in gathered) > LARGEST_ARTIFACT
        if self.too_large:
            self.notices.append(
                f"A checkpoint of this model has {gathered[0][0] / 1e6:.0f} MB, over the {LARGEST_ARTIFACT >> 20} MB "
                "that can be kept; the run has none."
            )
            return False
        if data:
            self.ctx.artifact(checkpoint.NAME, data)
        self.written["written"] += self.ctx.size if everybody else 1
        self.written["kept"] += 1
        self.written["bytes"] += sum(size for size, _ in gathered)
        self.written["differ"] |= everybody and len({holds for _, holds in gathered}) > 1
        return True

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
            "checkpoints": self.written if self.written["written"] else None,
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
