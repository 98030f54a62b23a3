"""The workload: what a rank does in a run, from the images to the metrics.

All ranks are given the same files, as with any run; each keeps the images of the institutions that live on it, and
forgets the others before the first round. From then on everything that leaves an institution is a message of
`messages`. Only where images are pooled for comparison the aggregator keeps all of them.
"""

from __future__ import annotations

import hashlib
import math
import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import psutil

from workshop.engine.context import RankContext
from workshop.engine.data import images
from workshop.engine.data.images import Images
from workshop.engine.data.shards import order
from workshop.engine.tensorflow import tensorflow
from workshop.workloads.federated import FederatedParams, messages
from workshop.workloads.federated.local import Learner, Silo, Vector
from workshop.workloads.federated.messages import AGGREGATOR, Line, home
from workshop.workloads.federated.partition import Partition, label_counts, participants, partition
from workshop.workloads.federated.rank import Rank
from workshop.workloads.federated.scanners import scanner
from workshop.workloads.federated.telling import Telling
from workshop.workloads.federated.ways import Alone, Centralised, Federated, Way
from workshop.workloads.mnist import models
from workshop.workloads.mnist.heldout import as_inputs

HELD_OUT = 37  # stream of a seed: which held-out images are tested on


def run(ctx: RankContext, params: FederatedParams) -> Mapping[str, Any]:
    """Learn from images of several institutions and tell what came out. Collective.

    Events of each round (step: its number, from 1), by rank 0: see `telling`; `time.*` by every rank: train, wait,
    gather, aggregate, broadcast, evaluate.
    """
    began = time.perf_counter()
    federation = Federation(ctx, params)
    federation.seconds["prepare"] = time.perf_counter() - began
    ctx.known(**federation.conditions())
    federation.rounds()
    return federation.finish()


class Federation:
    """One rank's part in a run: its institutions, and each way of learning. All collective."""

    def __init__(self, ctx: RankContext, params: FederatedParams) -> None:
        tf = tensorflow()
        tf.keras.utils.clear_session()  # what an earlier run of this process has left
        tf.keras.utils.set_random_seed(params.seed)
        self.ctx, self.params = ctx, params
        found = images.read(ctx.inputs)
        self.dealt = partition(params, found.train_labels)
        self.about = _about(params, found, self.dealt, ctx.size)
        silos = {one: _silo(params, found, self.dealt, one) for one in self._kept()}
        mine = {one: silo for one, silo in silos.items() if home(one, ctx.size) == ctx.rank}
        chosen = order(len(found.held_out_labels), [params.seed, HELD_OUT])[: params.evaluate_images]
        held_out = as_inputs(found.held_out_images[chosen]), found.held_out_labels[chosen].astype(np.int32)
        model = models.build(params.model, {})
        mu = params.mu if params.algorithm == "fedprox" else None
        learner = Learner(model, models.loss_of(model), models.correct, params.rate, mu)
        # Of one start for all: what ranks have drawn from the same seed may differ where their TensorFlow does.
        line = Line(ctx.comm, params.institutions, learner.parameters)
        start = line.model(learner.vector() if ctx.rank == AGGREGATOR else None)
        names = ("federated", "centralised", "alone") if params.way == "all" else (params.way,)
        self.lines = {name: Line(ctx.comm, params.institutions, learner.parameters) for name in names}
        self.lines[names[0]] = line
        ranks = {name: Rank(ctx, params, learner, self.lines[name], mine, held_out) for name in names}
        self.ways = [_way(rank, name, start, silos) for name, rank in ranks.items()]
        self.parameters, self.tested = learner.parameters, len(chosen)
        self.data = {"data": found.words, "data_digest": found.digest}
        self.notices = [found.notice] if found.notice else []
        self.telling = Telling(ctx, params, names)
        self.seconds: dict[str, float] = {}
        self.round_seconds: list[float] = []
        self.stopped = False
        self.warm_images = 0  # of the first round, which compiles

    def _kept(self) -> Sequence[int]:
        """The institutions whose images this rank needs."""
        everybody = range(self.params.institutions)
        if self.params.way in ("centralised", "all") and self.ctx.rank == AGGREGATOR:
            return everybody
        return [one for one in everybody if home(one, self.ctx.size) == self.ctx.rank]

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
            for way in self.ways:
                came = way.round(number, chosen)
                if came is not None:
                    self.telling.round(number, way.name, came, self.lines[way.name], chosen)
            told = self.ways[-1].rank.line.from_ranks(messages.REPORT, self._report(before))
            took = time.perf_counter() - began
            self.round_seconds.append(took)
            if number == 1:
                self.warm_images = int(sum(one[0] for one in told))
            if ctx.rank == AGGREGATOR:
                self.telling.speed(number, sum(one[0] for one in told) / took)
            ctx.end_step(number)
            ctx.progress(number, params.rounds)
            self.stopped = number < params.rounds and ctx.stop_requested()
            if self.stopped:
                break

    def _report(self, before: int = 0) -> Any:
        memory = float(psutil.Process().memory_info().rss)
        return np.array([self.images_read - before, self.ctx.phase_seconds.get("train", 0.0), memory])

    def conditions(self) -> dict[str, Any]:
        """What is known before the first round."""
        params = self.params
        return {
            **self.data,
            "held_out_images": self.tested,
            "train_images": sum(len(part) for part in self.dealt.train),
            "ways": [way.name for way in self.ways],
            "algorithm": params.algorithm,
            "model": params.model,
            "parameters": self.parameters,
            "bytes_model": 4 * self.parameters,
            "institutions": self.about,
        }

    def finish(self) -> dict[str, Any]:
        """What the run came to, on the aggregator's rank; others have nothing to tell."""
        ctx, line = self.ctx, self.ways[-1].rank.line
        reports = line.from_ranks(messages.REPORT, self._report())
        if ctx.rank != AGGREGATOR:
            return {}
        read = [int(one[0]) for one in reports]
        steady = self.round_seconds[1:]
        speed = (sum(read) - self.warm_images) / sum(steady) if steady else sum(read) / sum(self.round_seconds)
        busy = [float(one[1]) for one in reports]
        metrics = {
            **self.conditions(),
            **self.telling.results(self.about),
            "rounds": len(self.round_seconds),
            "stopped": self.stopped,
            "images_read": sum(read),
            "seconds_per_round": float(np.mean(steady or self.round_seconds)),
            "images_per_second": speed,
            "images_per_second_ranks": [count / took if took else 0.0 for count, took in zip(read, busy, strict=True)],
            "memory": [int(one[2]) for one in reports],
            "bytes_down": self.lines[self.ways[0].name].bytes_down,
            "bytes_up": self.lines[self.ways[0].name].bytes_up,
            "bytes_of_images": self.pooled_bytes(),
            "seconds": {**self.seconds, **ctx.phase_seconds},
        }
        shared = next((way for way in self.ways if not isinstance(way, Alone)), None)
        if shared is not None:
            metrics["model_digest"] = hashlib.sha256(shared.model.tobytes()).hexdigest()
        if self.notices:
            metrics["notices"] = self.notices
        return metrics

    def pooled_bytes(self) -> int:
        """What institutions would have to give away to pool the images that they learn from: a byte for a pixel."""
        return sum(len(part) for part in self.dealt.train) * math.prod(models.SHAPE)


def _way(rank: Rank, name: str, start: Vector, silos: Mapping[int, Silo]) -> Way:
    if name == "alone":
        return Alone(rank, start)
    if name == "centralised":
        return Centralised(rank, start, silos if rank.here else {})
    return Federated(rank, start)


def _silo(params: FederatedParams, found: Images, dealt: Partition, institution: int) -> Silo:
    """An institution's images, as its own scanner takes them where everyone has one."""
    parts = []
    for stream, positions in enumerate((dealt.train[institution], dealt.own[institution])):
        pictures = as_inputs(found.train_images[positions])
        if params.partition == "shift":
            pictures = scanner(institution, params.seed).taken(pictures, (params.seed, institution, stream))
        parts += [pictures, found.train_labels[positions].astype(np.int32)]
    return Silo(*parts)


def _about(params: FederatedParams, found: Images, dealt: Partition, ranks: int) -> list[dict[str, Any]]:
    """For each institution where it lives, how many images it has, and of what."""
    return [
        {
            "rank": home(one, ranks),
            "images": len(dealt.train[one]),
            "validation": len(dealt.own[one]),
            "labels": label_counts(found.train_labels, dealt.all_of(one)),
            **({"scanner": scanner(one, params.seed).as_json()} if params.partition == "shift" else {}),
        }
        for one in range(params.institutions)
    ]
