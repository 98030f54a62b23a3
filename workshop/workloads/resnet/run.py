"""The workload: each rank trains a network on one made-up batch, and the rounds' rates are measured."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from workshop.engine.context import RankContext
from workshop.engine.tensorflow import seed_training, tensorflow
from workshop.engine.training import training_run
from workshop.engine.training.exchange import Exchange
from workshop.engine.training.exchanges import ExchangeSettings
from workshop.engine.training.loop import WARM, Loop, StepInput
from workshop.engine.training.step import supervised
from workshop.engine.training.step_report import StepReporter
from workshop.engine.training.training_run import OnTrace, digest
from workshop.extension import OUTPUT
from workshop.workloads.mnist import models
from workshop.workloads.resnet import ResnetParams
from workshop.workloads.resnet.lines import LINES
from workshop.workloads.resnet.rounds import summary

NETWORKS = {
    "resnet50": "ResNet50",
    "inception-v3": "InceptionV3",
    "vgg16": "VGG16",
    "mobilenet-v2": "MobileNetV2",
}  # in keras.applications
CLASSES = 1000  # of ImageNet, for which these networks were made
RATE, MOMENTUM = 0.01, 0.9


def run(ctx: RankContext, params: ResnetParams) -> Mapping[str, Any]:
    """Train on all ranks and tell the images per second. Collective.

    Events of each step: `loss`, `accuracy` and `total images/s` by rank 0, `images/s` and `time.*` by every rank; of
    each round: `memory` by every rank. Artifacts: output.txt, timeline.json of the warm-up, with Horovod its own
    timeline. Raises BadInput where the MPI can't have the exchange.
    """
    settings = ExchangeSettings(params.exchange, params.compression, params.keep, params.bucket)
    return training_run.run(ctx, settings, lambda exchange, on_trace: ResnetTraining(ctx, params, exchange, on_trace))


def network(name: str, image_size: int) -> Any:
    """The Keras network of that name for images [n, image_size, image_size, 3], with random weights. It gives logits
    [n, 1000]."""
    build = getattr(tensorflow().keras.applications, NETWORKS[name])
    return build(weights=None, input_shape=(image_size, image_size, 3), classes=CLASSES, classifier_activation=None)


class ResnetTraining:
    """One rank's network, batch and rounds. All collective."""

    def __init__(self, ctx: RankContext, params: ResnetParams, exchange: Exchange, on_trace: OnTrace) -> None:
        tf = seed_training(params.seed, ctx.rank)
        self.ctx, self.params = ctx, params
        self.model = network(params.model, params.image_size)
        optimizer = tf.keras.optimizers.SGD(RATE, momentum=MOMENTUM)
        optimizer.build(self.model.trainable_variables)
        exchange.broadcast(self.model.weights)
        images, labels = made_up_batch(params, ctx.rank)
        batch = StepInput((tf.constant(images), tf.constant(labels), 1 / params.batch), params.batch)
        self.batch = lambda number: batch
        self.loop = Loop(
            ctx,
            supervised(self.model, optimizer, models.loss_of(self.model), models.correct, exchange, uneven=False),
            StepReporter(ctx),
            total=params.warmup + params.rounds * params.steps,
            warm=params.warmup,
            # Recording takes time, so the timeline is of the warm-up.
            trace=params.warmup - WARM,
            on_trace=on_trace,
        )
        self.seconds: dict[str, float] = {}
        self.memory = training_run.Resident(ctx)
        self.rates: list[float] = []  # of the rounds, images/s of each rank

    def conditions(self) -> dict[str, Any]:
        """The metrics that are known before the first step."""
        size = self.params.image_size
        return {
            "data": f"made-up images of {size} × {size} pixels",
            "model": NETWORKS[self.params.model],
            "parameters": int(self.model.count_params()),
        }

    def train(self) -> None:
        """Take the warm-up and the rounds, or fewer where a stop is asked for."""
        loop, params = self.loop, self.params
        loop.take(params.warmup, self.batch)
        totals = loop.reporter.totals
        printer = LINES[params.lines](NETWORKS[params.model], params.batch, self.ctx.size)
        lines = printer.opening()
        while len(self.rates) < params.rounds and not loop.over:
            began = totals.seconds
            if not loop.take(params.steps, self.batch):
                break  # a round that isn't complete has no rate
            self.rates.append(params.batch * params.steps / (totals.seconds - began))
            lines += printer.of_round(self.rates, totals)
            self.ctx.activity(lines[-1])
            self.memory.tell(loop.updates)
        lines += printer.closing(self.rates, totals)
        if self.ctx.rank == 0:
            self.ctx.artifact(OUTPUT, "".join(f"{line}\n" for line in lines).encode(), "text/plain")

    def finish(self) -> dict[str, Any]:
        """The rounds' rates, and what shows that all ranks hold the same network."""
        loss = self.loop.reporter.mean_loss
        return {
            "rounds": summary(self.rates, self.ctx.size),
            "round_rates": self.rates,
            "loss": loss,
            "diverged": not math.isfinite(loss),
            "memory": self.memory.of_all(),
            "weights": self.ctx.comm.allgather(digest(self.model.trainable_variables)),
        }


def made_up_batch(params: ResnetParams, rank: int) -> tuple[Any, Any]:
    """A rank's images, float32 [batch, image_size, image_size, 3] from 0 to 1, and labels, int32 [batch]."""
    stream = np.random.default_rng([params.seed, rank])
    images = stream.random((params.batch, params.image_size, params.image_size, 3), np.float32)
    return images, stream.integers(CLASSES, size=params.batch, dtype=np.int32)
