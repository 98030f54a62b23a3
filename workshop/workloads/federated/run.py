"""The workload: what a rank does in a run, from the images to the metrics.

All ranks are given the same files, as with any run; each keeps the images of the institutions that live on it, and
forgets the others before the first round. From then on everything that leaves an institution is a message of
`messages`. Only where images are pooled for comparison the aggregator keeps all of them.
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
from workshop.engine.tensorflow import tensorflow
from workshop.workloads.federated import FederatedParams
from workshop.workloads.federated.communication import messages
from workshop.workloads.federated.communication.messages import AGGREGATOR, InstitutionChannel, home
from workshop.workloads.federated.mathematics.sampling import participants
from workshop.workloads.federated.params import Learning
from workshop.workloads.federated.training.digits import digits
from workshop.workloads.federated.training.learner import LocalLearner, PrivateLearner, Vector
from workshop.workloads.federated.training.protection import attackers, poisoned_silo
from workshop.workloads.federated.training.rank import Rank, RoundStopped
from workshop.workloads.federated.training.results import RoundResults
from workshop.workloads.federated.training.task import Labels, Maker
from workshop.workloads.federated.training.ways import THREE, AloneWay, CentralisedWay, FederatedWay, Way, ways_of


def run(ctx: RankContext, params: FederatedParams) -> Mapping[str, Any]:
    """Learn from images of several institutions and tell what came out. Collective. Rank 0 tells the events of
    `RoundResults`; every rank tells `time.*`: train, wait, encode, gather, aggregate, broadcast, evaluate."""
    return learn(ctx, params, digits)


def learn(ctx: RankContext, params: Learning, task: Maker) -> dict[str, Any]:
    """A whole run, whatever institutions learn. Collective."""
    began = time.perf_counter()
    federation = Federation(ctx, params, task)
    federation.seconds["prepare"] = time.perf_counter() - began
    ctx.known(**federation.conditions())
    federation.rounds()
    return federation.finish()


class Federation:
    """One rank's part in a run: its institutions, and each way of learning. All collective."""

    def __init__(self, ctx: RankContext, params: Learning, task: Maker = digits) -> None:
        tf = tensorflow()
        tf.keras.utils.clear_session()  # what an earlier run of this process has left
        tf.keras.utils.set_random_seed(params.seed)
        self.ctx, self.params = ctx, params
        self.task = task(ctx, params, self._kept())
        self.about = [{"rank": home(one, ctx.size), **dict(known)} for one, known in enumerate(self.task.about)]
        # Of one network, by whether images are hidden and by mu: ways put their models into it in turn.
        self._learners: dict[tuple[bool, float | None], LocalLearner] = {}
        learner = self._learner(params)
        # Of one start for all: what ranks have drawn from the same seed may differ where their TensorFlow does.
        channel = InstitutionChannel(ctx.comm, params.institutions, learner.parameters)
        start = channel.model(learner.vector() if ctx.rank == AGGREGATOR else None)
        going = ways_of(params)
        self.channels = {name: InstitutionChannel(ctx.comm, params.institutions, learner.parameters) for name in going}
        self.channels[next(iter(going))] = channel
        self.ways = [self._way(name, one, start) for name, one in going.items()]
        self.parameters = learner.parameters
        self.results = RoundResults(ctx, params, list(going), self.task.measure)
        self.seconds: dict[str, float] = {}
        self.round_seconds: list[float] = []  # of those that are over
        self.round_images: list[int] = []
        self._reached()
        self.stopped = False

    def _kept(self) -> Sequence[int]:
        """The institutions whose images this rank needs."""
        everybody = range(self.params.institutions)
        if self.params.way in ("centralised", "all") and self.ctx.rank == AGGREGATOR:
            return everybody
        return [one for one in everybody if home(one, self.ctx.size) == self.ctx.rank]

    def _learner(self, params: Learning) -> LocalLearner:
        """What trains in a way with these params."""
        task, mu = self.task, params.mu if params.algorithm == "fedprox" else None
        kind = params.privacy == "images", mu
        if kind not in self._learners:
            given = task.model, task.loss, task.score, params.rate, mu
            named: dict[str, Any] = {"optimizer": params.optimizer, "at_once": task.at_once}
            if params.privacy == "images":
                self._learners[kind] = PrivateLearner(*given, clip=params.clip, noise=params.noise, **named)
            else:
                self._learners[kind] = LocalLearner(*given, **named)
        return self._learners[kind]

    def _way(self, name: str, params: Learning, start: Vector) -> Way:
        """A way of learning with params of its own. Attack, defence and FedProx are for updates only."""
        ctx, silos = self.ctx, self.task.silos
        mine = {one: silo for one, silo in silos.items() if home(one, ctx.size) == ctx.rank}
        federated = name not in ("centralised", "alone")
        if federated and params.attack == "flip":
            classes = int(self.task.model.output_shape[-1])
            wrong = {one: poisoned_silo(mine[one], classes) for one in attackers(params) if one in mine}
            mine |= wrong
        without = params.model_copy(update={"privacy": "none", "algorithm": "fedavg"})
        learner = self._learner(params if federated else without)
        rank = Rank(ctx, params, learner, self.channels[name], mine, self.task.held_out)
        if name == "alone":
            return AloneWay(rank, start)
        if name == "centralised":
            return CentralisedWay(rank, start, silos if rank.here else {})
        return FederatedWay(rank, start, name, [one["images"] for one in self.about])

    @property
    def images_read(self) -> int:
        """By this rank, in all ways."""
        return sum(way.rank.images_read for way in self.ways)

    def rounds(self) -> None:
        """Learn until all rounds are done or a stop is asked for."""
        ctx, params = self.ctx, self.params
        for number in range(1, params.rounds + 1):
            began, before = time.perf_counter(), self.images_read
            chosen = participants(params, number)
            try:
                came = [way.round(number, chosen) for way in self.ways]
            except RoundStopped:  # what there is of this round is forgotten, in all ways
                self.stopped = True
                break
            for way, one in zip(self.ways, came, strict=True):
                if one is not None:
                    self.results.round(number, way.name, one, self.channels[way.name], chosen)
            if isinstance(self.ways[0], FederatedWay):
                self.ways[0].uplink.sent.tell()
            self._reached()
            told = self.ways[-1].rank.channel.from_ranks(messages.REPORT, self._report(before))
            took = time.perf_counter() - began
            self.round_seconds.append(took)
            self.round_images.append(int(sum(one[0] for one in told)))
            if ctx.rank == AGGREGATOR:
                self.results.speed(number, sum(one[0] for one in told) / took)
            if self.task.look is not None and number % self.task.look.every == 0 and number < params.rounds:
                self._look(number, last=False)
            ctx.end_step(number)
            ctx.progress(number, params.rounds)
            self.stopped = number < params.rounds and ctx.stop_requested()
            if self.stopped:
                break

    def _reached(self) -> None:
        """Remember the model of the first way in which all share one: of this round, should the next one be left."""
        self.reached = next((way.model for way in self.ways if not isinstance(way, AloneWay)), None)

    def _look(self, number: int, *, last: bool) -> Mapping[str, Any]:
        """Let the task look at what the models make of images, on the aggregator's rank."""
        look, ctx = self.task.look, self.ctx
        if look is None or ctx.rank != AGGREGATOR:
            return {}
        with ctx.phase("evaluate"):
            return look.keep(number, self._seen, last)

    def _seen(self, images: NDArray[np.float32], labels: Labels) -> dict[str, NDArray[np.float32]]:
        """What the model of each way makes of some images; of models of their own, the first institution's."""
        outputs = {}
        for way in (one for one in self.ways if one.name in THREE):
            learner = way.rank.learner
            learner.load(way.models[0] if isinstance(way, AloneWay) else way.model)
            outputs[way.name] = learner.outputs(images, labels)
        return outputs

    def _report(self, before: int = 0) -> Any:
        memory = float(psutil.Process().memory_info().rss)
        return np.array([self.images_read - before, self.ctx.phase_seconds.get("train", 0.0), memory])

    def conditions(self) -> dict[str, Any]:
        """What is known before the first round."""
        return {
            **self.task.known,
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
        """Of all institutions together."""
        return sum(one["images"] for one in self.about)

    def finish(self) -> dict[str, Any]:
        """What the run came to, on the aggregator's rank; others have nothing to tell."""
        ctx, channel = self.ctx, self.ways[-1].rank.channel
        reports = channel.from_ranks(messages.REPORT, self._report())
        if ctx.rank != AGGREGATOR:
            return {}
        looked = self._look(len(self.round_seconds), last=True)
        read = [int(one[0]) for one in reports]
        steady, steady_images = self.round_seconds[1:], self.round_images[1:]  # the first round compiles
        if not steady:
            steady, steady_images = self.round_seconds, self.round_images
        busy = [float(one[1]) for one in reports]
        metrics = {
            **self.conditions(),
            **self.results.results(self.about),
            **looked,
            "rounds": len(self.round_seconds),
            "stopped": self.stopped,
            "images_read": sum(read),
            "seconds_per_round": float(np.mean(steady)) if steady else None,
            "images_per_second": sum(steady_images) / sum(steady) if steady else 0.0,
            "images_per_second_ranks": [count / took if took else 0.0 for count, took in zip(read, busy, strict=True)],
            "memory": [int(one[2]) for one in reports],
            "bytes_down": self.channels[self.ways[0].name].bytes_down,
            "bytes_up": self.channels[self.ways[0].name].bytes_up,
            "bytes_of_images": self.train_images * self.task.bytes_image,
            "seconds": {**self.seconds, **ctx.phase_seconds},
        }
        if self.reached is not None:
            metrics["model_digest"] = hashlib.sha256(self.reached.tobytes()).hexdigest()
        if isinstance(self.ways[0], FederatedWay):
            metrics["sending"] = self.ways[0].uplink.sent.told()
        if self.task.notices:
            metrics["notices"] = list(self.task.notices)
        return metrics
