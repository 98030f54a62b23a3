"""The workload: what a rank does in a run, from the images to the metrics.

All ranks get the same files. Each rank keeps the images of the institutions that live on it, and forgets the others
before the first round. From then on, everything that leaves an institution is a message of `messages`. The aggregator
keeps all images only where the run also trains on pooled images, for comparison.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import psutil
from numpy.typing import NDArray

from workshop.engine.context import RankContext
from workshop.engine.tensorflow import seed_training
from workshop.workloads.federated import FederatedParams, messages
from workshop.workloads.federated.mathematics.partition import participants
from workshop.workloads.federated.messages import AGGREGATOR, InstitutionChannel, home
from workshop.workloads.federated.params import Learning
from workshop.workloads.federated.training.learner import LocalLearner, Vector
from workshop.workloads.federated.training.rank import Rank, RoundStopped
from workshop.workloads.federated.training.results import RoundResults
from workshop.workloads.federated.training.task import Labels, Maker, digits
from workshop.workloads.federated.training.ways import THREE, AloneWay, CentralisedWay, FederatedWay, Way, ways_of


def run(ctx: RankContext, params: FederatedParams) -> Mapping[str, Any]:
    """Run a federation on handwritten digits and return its metrics. Collective. Rank 0 emits the events of
    `RoundResults`. Every rank emits `time.*`: train, wait, gather, aggregate, broadcast, evaluate."""
    return learn(ctx, params, digits)


def learn(ctx: RankContext, params: Learning, task: Maker) -> dict[str, Any]:
    """Run a federation on any learning task and return its metrics. Collective."""
    began = time.perf_counter()
    ctx.activity("loading TensorFlow")
    federation = Federation(ctx, params, task)
    federation.seconds["prepare"] = time.perf_counter() - began
    ctx.publish(**federation.conditions())
    ctx.activity("training")
    federation.rounds()
    return federation.finish()


class Federation:
    """One rank's part in a run: its institutions, and each way of learning. All collective."""

    def __init__(self, ctx: RankContext, params: Learning, task: Maker = digits) -> None:
        ctx.activity("reading data and building the model")
        seed_training(params.seed)
        self.ctx, self.params = ctx, params
        self.task = task(ctx, params, self._needed())
        self.about = [
            {"rank": home(institution, ctx.size), **dict(described)}
            for institution, described in enumerate(self.task.about)
        ]
        self._learners: dict[float | None, LocalLearner] = {}  # by mu; they share one network, ways load their models
        learner = self._learner(params)
        # All ranks start with the aggregator's weights: another version of TensorFlow may draw others from the seed.
        channel = InstitutionChannel(ctx.comm, params.institutions, learner.parameters)
        start = channel.model(learner.vector() if ctx.rank == AGGREGATOR else None)
        ways = ways_of(params)
        self.channels = {name: InstitutionChannel(ctx.comm, params.institutions, learner.parameters) for name in ways}
        self.channels[next(iter(ways))] = channel
        self.ways = [self._way(name, way_params, start) for name, way_params in ways.items()]
        self.parameters = learner.parameters
        self.results = RoundResults(ctx, params, list(ways), self.task.measure)
        self.seconds: dict[str, float] = {}
        self.round_seconds: list[float] = []  # of the rounds that are over
        self.round_images: list[int] = []
        self._remember_model()
        self.stopped = False

    def _needed(self) -> Sequence[int]:
        """Return the institutions whose images this rank needs."""
        everybody = range(self.params.institutions)
        if self.params.way in ("centralised", "all") and self.ctx.rank == AGGREGATOR:
            return everybody
        return [institution for institution in everybody if home(institution, self.ctx.size) == self.ctx.rank]

    def _learner(self, params: Learning) -> LocalLearner:
        """Return the learner for these params."""
        task, mu = self.task, params.mu if params.algorithm == "fedprox" else None
        if mu not in self._learners:
            options: dict[str, Any] = {"optimizer": params.optimizer, "at_once": task.at_once}
            self._learners[mu] = LocalLearner(task.model, task.loss, task.score, params.rate, mu, **options)
        return self._learners[mu]

    def _way(self, name: str, params: Learning, start: Vector) -> Way:
        """Return a way of learning. Attack, defence and FedProx change updates, so only federated ways have them."""
        ctx, silos = self.ctx, self.task.silos
        local_silos = {
            institution: silo for institution, silo in silos.items() if home(institution, ctx.size) == ctx.rank
        }
        federated = name not in ("centralised", "alone")
        learner = self._learner(params if federated else params.model_copy(update={"algorithm": "fedavg"}))
        rank = Rank(ctx, params, learner, self.channels[name], local_silos, self.task.held_out)
        if name == "alone":
            return AloneWay(rank, start)
        if name == "centralised":
            return CentralisedWay(rank, start, silos if rank.here else {})
        return FederatedWay(rank, start, name)

    @property
    def images_read(self) -> int:
        """The images that this rank has read, in all ways."""
        return sum(way.rank.images_read for way in self.ways)

    def rounds(self) -> None:
        """Learn until all rounds are done or a stop is requested."""
        ctx, params = self.ctx, self.params
        for number in range(1, params.rounds + 1):
            began, before = time.perf_counter(), self.images_read
            chosen = participants(params, number)
            try:
                outcomes = [way.round(number, chosen) for way in self.ways]
            except RoundStopped:  # the results of this round are dropped, in all ways
                self.stopped = True
                break
            for way, outcome in zip(self.ways, outcomes, strict=True):
                if outcome is not None:
                    self.results.round(number, way.name, outcome, self.channels[way.name], chosen)
            self._remember_model()
            reports = self.ways[-1].rank.channel.from_ranks(messages.REPORT, self._report(before))
            seconds = time.perf_counter() - began
            self.round_seconds.append(seconds)
            self.round_images.append(int(sum(report[0] for report in reports)))
            if ctx.rank == AGGREGATOR:
                self.results.speed(number, sum(report[0] for report in reports) / seconds)
            if self.task.look is not None and number % self.task.look.every == 0 and number < params.rounds:
                self._look(number, last=False)
            ctx.end_step(number)
            ctx.progress(number, params.rounds)
            self.stopped = number < params.rounds and ctx.stop_requested()
            if self.stopped:
                break

    def _remember_model(self) -> None:
        """Remember the first shared model among the ways: a stop in the next round falls back on it."""
        self.reached = next((way.model for way in self.ways if not isinstance(way, AloneWay)), None)

    def _look(self, number: int, *, last: bool) -> Mapping[str, Any]:
        """Let the task inspect the models' outputs, on the aggregator's rank."""
        look, ctx = self.task.look, self.ctx
        if look is None or ctx.rank != AGGREGATOR:
            return {}
        with ctx.phase("evaluate"):
            return look.keep(number, self._outputs, last)

    def _outputs(self, images: NDArray[np.float32], labels: Labels) -> dict[str, NDArray[np.float32]]:
        """Return each way's outputs for some images. The way `alone` uses the first institution's model."""
        outputs = {}
        for way in (candidate for candidate in self.ways if candidate.name in THREE):
            learner = way.rank.learner
            learner.load(way.models[0] if isinstance(way, AloneWay) else way.model)
            outputs[way.name] = learner.outputs(images, labels)
        return outputs

    def _report(self, before: int = 0) -> Any:
        memory = float(psutil.Process().memory_info().rss)
        return np.array([self.images_read - before, self.ctx.phase_seconds.get("train", 0.0), memory])

    def conditions(self) -> dict[str, Any]:
        """Return the metrics that are known before the first round."""
        return {
            **self.task.facts,
            "measure": self.task.measure,
            "held_out_images": len(self.task.held_out[1]),
            "train_images": self.train_images,
            "ways": [way.name for way in self.ways],
            "algorithm": self.params.algorithm,
            "parameters": self.parameters,
            "bytes_model": 4 * self.parameters,
            "institutions": self.about,
        }

    @property
    def train_images(self) -> int:
        """The number of images of all institutions together."""
        return sum(institution["images"] for institution in self.about)

    def finish(self) -> dict[str, Any]:
        """Return the run's metrics on the aggregator's rank, and nothing on others."""
        ctx, channel = self.ctx, self.ways[-1].rank.channel
        reports = channel.from_ranks(messages.REPORT, self._report())
        if ctx.rank != AGGREGATOR:
            return {}
        inspected = self._look(len(self.round_seconds), last=True)
        read = [int(report[0]) for report in reports]
        steady, steady_images = self.round_seconds[1:], self.round_images[1:]  # the first round compiles
        if not steady:
            steady, steady_images = self.round_seconds, self.round_images
        busy = [float(report[1]) for report in reports]
        metrics = {
            **self.conditions(),
            **self.results.results(self.about),
            **inspected,
            "rounds": len(self.round_seconds),
            "stopped": self.stopped,
            "images_read": sum(read),
            "seconds_per_round": float(np.mean(steady)) if steady else None,
            "images_per_second": sum(steady_images) / sum(steady) if steady else 0.0,
            "images_per_second_ranks": [count / took if took else 0.0 for count, took in zip(read, busy, strict=True)],
            "memory": [int(report[2]) for report in reports],
            "bytes_down": self.channels[self.ways[0].name].bytes_down,
            "bytes_up": self.channels[self.ways[0].name].bytes_up,
            "bytes_of_images": self.train_images * self.task.bytes_image,
            "seconds": {**self.seconds, **ctx.phase_seconds},
        }
        if self.reached is not None:
            metrics["model_digest"] = hashlib.sha256(self.reached.tobytes()).hexdigest()
        return metrics
