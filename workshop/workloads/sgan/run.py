"""The workload: the work of a rank in a run, from the images to the metrics. Held-out images are evaluated by all ranks
or by rank 0 alone, in one of three ways."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workshop.core.memory import forget_peak, private_peak
from workshop.engine.context import RankContext
from workshop.engine.data import order, shard
from workshop.engine.tensorflow import seed_training, tensorflow
from workshop.engine.training import optimizer as training_optimizer
from workshop.engine.training import training_run
from workshop.engine.training.exchange import Exchange
from workshop.engine.training.exchanges import ExchangeSettings
from workshop.engine.training.loop import Loop, Step, StepInput
from workshop.engine.training.step_report import StepReporter
from workshop.engine.training.training_run import OnTrace, digest, spread
from workshop.workloads.mnist.data import images
from workshop.workloads.mnist.data.images import CLASSES, Images
from workshop.workloads.sgan import SganParams
from workshop.workloads.sgan import step as steps
from workshop.workloads.sgan.models import RATE, Discriminator, as_inputs, generated, generator, optimizer
from workshop.workloads.sgan.plan import due, plan

AT_ONCE = 256  # images
SEED = 7  # of the choice where not all held-out images are evaluated: the same ones in every run

Infer = Callable[[NDArray[np.uint8]], NDArray[np.float32]]  # images [n, 28, 28] -> logits [n, 10]


@dataclass(frozen=True)
class SganScore:
    """Loss and accuracy over all evaluated images, and the accuracy of each rank's images; NaN for a rank without
    images."""

    loss: float
    accuracy: float
    accuracies: list[float]


class SganHeldOut:
    """The held-out images that this rank evaluates. Its methods are collective.

    `seconds` is the time that this rank has spent on evaluation, `waited` the time that it has waited for others.
    """

    def __init__(self, ctx: RankContext, params: SganParams, images: Images, model: Any) -> None:
        count = len(images.held_out_labels)
        chosen = order(count, SEED)[: params.evaluate_images or count]
        if params.evaluate_by == "all":
            own_images = chosen[slice(*shard(len(chosen), ctx.size, ctx.rank))]
        else:
            own_images = chosen if ctx.rank == 0 else chosen[:0]
        self.ctx = ctx
        self.count = len(chosen)
        self.pixels, self.labels = images.held_out_images[own_images], images.held_out_labels[own_images]
        self.infer = inference(params.inference, model, params.size)
        self.seconds = self.waited = 0.0
        lengths = {min(AT_ONCE, len(own_images)), len(own_images) % AT_ONCE}
        for length in lengths - {0}:  # compiled before anything is timed
            self.infer(self.pixels[:length])

    def score(self) -> SganScore:
        """Evaluate the present classifier; the phases are "evaluate" and "wait"."""
        spent = self.ctx.phase_seconds  # the same seconds as in the phases' events
        evaluated, waited = spent.get("evaluate", 0.0), spent.get("wait", 0.0)
        with self.ctx.phase("evaluate"):
            own_sums = self._own_sums()
        with self.ctx.phase("wait"):
            of_all = np.array(self.ctx.comm.allgather(own_sums))
        self.seconds += spent["evaluate"] - evaluated
        self.waited += spent["wait"] - waited
        loss, right, count = of_all.sum(axis=0)
        with np.errstate(invalid="ignore"):
            each = of_all[:, 1] / of_all[:, 2]
        return SganScore(float(loss / count), float(right / count), each.tolist())

    def _own_sums(self) -> NDArray[np.float64]:
        """The sum of the losses, the number of right answers and the number of images."""
        if not len(self.labels):
            return np.zeros(3)
        starts = range(0, len(self.labels), AT_ONCE)
        logits = np.concatenate([self.infer(self.pixels[at : at + AT_ONCE]) for at in starts]).astype(np.float64)
        raised = logits - logits.max(axis=1, keepdims=True)
        losses = np.log(np.exp(raised).sum(axis=1)) - raised[np.arange(len(self.labels)), self.labels]
        return np.array([losses.sum(), (logits.argmax(axis=1) == self.labels).sum(), len(self.labels)])


def inference(way: str, model: Any, size: int) -> Infer:
    """A function that computes logits with the Keras model: compiled, or by a method of the model for each batch of
    images. Keras's `predict` builds a data pipeline for every call; `predict_on_batch` doesn't."""
    tf = tensorflow()

    def compiled(function: Callable[[Any], Any]) -> Infer:
        signature = [tf.TensorSpec([None, None, None], tf.uint8)]
        of_tensor = tf.function(function, input_signature=signature, autograph=False)
        return lambda pixels: of_tensor(tf.constant(pixels)).numpy()

    if way == "compiled":
        return compiled(lambda pixels: model(as_inputs(pixels, size), training=False))
    prepared = compiled(lambda pixels: as_inputs(pixels, size))
    if way == "predict_on_batch":
        return lambda pixels: np.asarray(model.predict_on_batch(prepared(pixels)))
    return lambda pixels: np.asarray(model.predict(prepared(pixels), batch_size=AT_ONCE, verbose=0))


DIVERGED = 10 * math.log(CLASSES)  # a mean loss ten times that of guessing: it won't come back
COOLING = 0.5  # share of the training after which the learning rate falls
PICTURES = 8  # evaluations between two times that generated digits are kept


def run(ctx: RankContext, params: SganParams) -> Mapping[str, Any]:
    """Train both nets on all ranks and tell what came out. Collective.

    Events of each step: `loss`, `accuracy` (of labelled images), `generator loss` and `total images/s` by rank 0,
    `images/s` and `time.*` by every rank; of each evaluation: `held-out loss` and `held-out accuracy` by rank 0,
    `memory`, `time.evaluate` and `time.wait` by every rank. Artifacts: generated.json, timeline.json, with Horovod its
    own timeline.
    """
    forget_peak()
    settings = ExchangeSettings(params.exchange)
    return training_run.run(ctx, settings, lambda exchange, on_trace: SganTraining(ctx, params, exchange, on_trace))


class SganTraining:
    """One rank's training of two nets, or of the classifier alone. All methods are collective."""

    def __init__(self, ctx: RankContext, params: SganParams, exchange: Exchange, on_trace: OnTrace) -> None:
        seed_training(params.seed, ctx.rank)
        self.ctx, self.params, self.exchange = ctx, params, exchange
        self.images = images.read(ctx.inputs)
        self.plan = plan(params, self.images.train_labels, ctx.size)
        self.discriminator = Discriminator(params.size)
        self.generator = generator(params.size) if params.method == "sgan" else None
        nets = [self.discriminator.model, *([self.generator] if self.generator else [])]
        self.variables = [variable for net in nets for variable in net.trainable_variables]
        self.rate = params.rate or RATE
        self.optimizers = [optimizer(self.rate, net) for net in nets]
        self.spread_before = spread(ctx.comm, self.variables)
        exchange.broadcast(self.variables)
        for net_optimizer in self.optimizers:
            exchange.broadcast(net_optimizer.variables)
        curves = steps.CURVES if self.generator else steps.SUPERVISED_CURVES
        self.reporter = StepReporter(ctx, curves=curves, sums=steps.SUMS_COUNT)
        self.loop = Loop(
            ctx,
            self._step(),
            self.reporter,
            total=params.iterations,
            most=params.iterations,
            pace=params.pace,
            trace=params.trace,
            on_trace=on_trace,
        )
        self.held_out = SganHeldOut(ctx, params, self.images, self.discriminator.model)
        self.memory = training_run.Resident(ctx)
        self.seconds = {"evaluate": 0.0, "pictures": 0.0}
        self.evaluations = 0
        self.score: SganScore | None = None
        self.to_target: tuple[float, int] | None = None  # seconds and iterations
        self.diverged = False

    def _step(self) -> Step:
        pause = self._pause if self.params.compute else None
        common = (self.optimizers, self.exchange, self.params.seed, self.params.size, pause)
        if self.generator is None:
            return steps.supervised(self.discriminator, *common)
        return steps.adversarial(self.discriminator, self.generator, *common)

    def _pause(self) -> float:
        """Wait until this step's compute has taken as long as the params say. Returns the seconds since the epoch."""
        time.sleep(max(self._began + self.params.compute - time.time(), 0.0))
        return time.time()

    _began = 0.0  # when this step's input was there

    def _set_rate(self, number: int) -> None:
        """Set both nets' learning rate for a step; it falls to zero in the second half."""
        rate = training_optimizer.cooled(self.rate, COOLING, (self._done + number) / self.params.iterations)
        if rate != self._rate_now:
            self._rate_now = rate
            for net_optimizer in self.optimizers:
                net_optimizer.learning_rate = rate

    _rate_now = math.nan
    _done = 0  # steps before those that the loop takes now, which it numbers from 0

    def _give(self, number: int) -> StepInput:
        """The data of a step."""
        tf, rank, number = tensorflow(), self.ctx.rank, self._done + number
        labelled, unlabelled = self.plan.take(number, rank)
        pixels, labels = self.images.train_images, self.images.train_labels
        tensors = [tf.constant(pixels[labelled]), tf.constant(labels[labelled].astype(np.int32))]
        if self.generator is not None:
            tensors.append(tf.constant(pixels[unlabelled]))
        numbers = np.array([number, rank * self.plan.labelled_row.batch, rank * self.plan.unlabelled_row.batch])
        self._began = time.time()
        return StepInput((*tensors, tf.constant(numbers)), len(labelled) + len(unlabelled))

    def train(self) -> None:
        """Train until all iterations are done, a stop is requested, or the loss diverges."""
        params, loop = self.params, self.loop
        while not loop.over and not self.diverged:
            done = self._done = loop.done
            until = min(due(done, params.evaluate_every, params.evaluate_unit, self.ctx.size), params.iterations)
            loop.take(until - done, self._give, self._set_rate)
            means = self.reporter.means
            self.diverged = not means["loss"] < DIVERGED or not all(map(math.isfinite, means.values()))
            if not loop.stopped:
                self._evaluate()

    def _evaluate(self) -> None:
        ctx, step, began = self.ctx, self.loop.updates, time.perf_counter()
        self.score = self.held_out.score()
        self.evaluations += 1
        self.seconds["evaluate"] += time.perf_counter() - began
        ctx.end_step(step)
        self.memory.tell(step)
        if self.to_target is None and self.score.accuracy >= self.params.target:
            self.to_target = self.loop.seconds, step
        if ctx.rank == 0:
            ctx.emit("held-out loss", self.score.loss, step)
            ctx.emit("held-out accuracy", self.score.accuracy, step)
        if self.evaluations % PICTURES == 0:
            self._keep_pictures()

    def _keep_pictures(self) -> None:
        """Store the generator's digits on rank 0 while the others wait, so that rank 0 isn't late in the next step.
        Nothing is stored after divergence."""
        if self.generator is None or self.diverged:
            return
        began = time.perf_counter()
        if self.ctx.rank == 0:
            digits = generated(self.generator, self.discriminator.model)
            self.ctx.artifact("generated.json", json.dumps(digits).encode(), "application/json")
        self.ctx.synchronise(account=False)
        self.seconds["pictures"] += time.perf_counter() - began

    def conditions(self) -> dict[str, Any]:
        """The metrics that are known before the first step."""
        params, training_plan = self.params, self.plan
        nets = {"classifier": self.discriminator.model, "generator": self.generator}
        return {
            "data": self.images.words,
            "data_digest": self.images.digest,
            "train_images": len(self.images.train_labels),
            "held_out_images": self.held_out.count,
            "labelled_images": len(training_plan.labelled),
            "unlabelled_images": 0 if training_plan.supervised else len(training_plan.unlabelled),
            "labelled_batch": training_plan.labelled_row.batch,
            "method": params.method,
            "parameters": sum(int(net.count_params()) for net in nets.values() if net is not None),
            "target": params.target,
            "learning_rate": self.rate,
            "spread_before": self.spread_before,
        }

    def finish(self) -> dict[str, Any]:
        """The final metrics, equal on all ranks, and the final artifacts."""
        ctx, score, loop = self.ctx, self.score, self.loop
        self._keep_pictures()
        means = self.reporter.means
        metrics: dict[str, Any] = {
            "iterations": loop.done,
            "diverged": self.diverged,
            "loss": means["loss"],
            "time_to_target": self.to_target[0] if self.to_target else None,
            "iterations_to_target": self.to_target[1] if self.to_target else None,
            "memory": self.memory.of_all(),
            "private_memory": ctx.comm.allgather(private_peak()),
            "spread": spread(ctx.comm, self.variables),
            "weights": ctx.comm.allgather(digest(self.variables)),
            "evaluations": self.evaluations,
            "evaluate_seconds": ctx.comm.allgather(self.held_out.seconds),
            "evaluate_wait": ctx.comm.allgather(self.held_out.waited),
        }
        if self.generator is not None:
            metrics["generator_loss"] = means["generator loss"]
        if score is not None:
            metrics |= {
                "held_out_loss": score.loss,
                "held_out_accuracy": score.accuracy,
                "held_out_accuracy_ranks": score.accuracies,
            }
        return metrics
