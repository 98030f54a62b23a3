"""Three ways to learn from images that belong to several institutions: each rank's part in a round of each.

All ways begin with the same weights. In each round, the same institutions take part, and each reads the same number of
images in batches of the same size; so the ways can be compared after the same number of rounds. Pooled images are on
the aggregator's rank, which takes all steps one after the other. With an attack or a defence, the same federation also
learns without it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from workshop.workloads.federated.mathematics import aggregation
from workshop.workloads.federated.mathematics.partition import batches
from workshop.workloads.federated.messages import COUNT, UPDATE
from workshop.workloads.federated.params import Learning
from workshop.workloads.federated.training.learner import Sums, Vector
from workshop.workloads.federated.training.protection import Protection
from workshop.workloads.federated.training.rank import NOTHING, InstitutionScore, Rank, Round
from workshop.workloads.federated.training.task import Silo

POOL = 1 << 20  # the pooled images' number, where institutions have theirs
THREE = ("federated", "centralised", "alone")
PLAIN, UNDEFENDED = "plain", "undefended"  # federated ways for comparison


def ways_of(params: Learning) -> dict[str, Learning]:
    """Return the params of each way by its name, the main way first. `plain` is without attack, robust rule and
    privacy, `undefended` with the attack alone. A way that equals another is left out."""
    ways = dict.fromkeys(THREE if params.way == "all" else (params.way,), params)
    if params.guarded and params.beside and "federated" in ways:
        ways[PLAIN] = params.model_copy(update={"attack": "none", "rule": "mean", "privacy": "none"})
        undefended = params.model_copy(update={"rule": "mean", "privacy": "none"})
        if params.attacked and undefended != params:
            ways[UNDEFENDED] = undefended
    return ways


class FederatedWay:
    """Institutions train the aggregator's model; the aggregator averages their updates."""

    def __init__(self, rank: Rank, start: Vector, name: str) -> None:
        self.rank, self.model, self.name = rank, start, name
        self.first = name == "federated"  # the others are for comparison only
        self.server = aggregation.server(rank.params.algorithm, rank.params.server_rate)
        self.guard = Protection(rank)

    def round(self, number: int, chosen: Sequence[int]) -> Round | None:
        """Learn for one round. Collective. Return its results on the aggregator's rank."""
        rank, ctx = self.rank, self.rank.ctx
        updates, partial_scores = {}, {}
        with ctx.phase("train"):
            for institution in rank.turns(chosen):
                silo = rank.silos[institution]
                trained = rank.train(silo, self.model, rank.order(number, institution))
                updates[institution] = self.guard.outgoing(institution, rank.learner.vector() - self.model)
                before = rank.learner.test(silo.own_images, silo.own_labels)
                held_out = rank.test_sample() if self.first else NOTHING
                partial_scores[institution] = InstitutionScore(trained, before, held_out=held_out)
        rank.agree()
        images = self.guard.weights({institution: len(rank.silos[institution].labels) for institution in updates})
        with ctx.phase("gather"):
            counts = rank.channel.numbers(COUNT, images, chosen)
            received = rank.channel.from_institutions(UPDATE, updates, chosen)
            epsilon, clipped = self.guard.spent(number, chosen)
        with ctx.phase("aggregate"):
            gathered = aggregation.combined(received, counts, rank.params)
            moved = self._step(self.guard.incoming(number, gathered))
        with ctx.phase("broadcast"):
            self.model = rank.channel.model(self.model if rank.here else None)
        scores, held_out = rank.common(self.model, partial_scores)
        if not rank.here:
            return None
        return Round(
            sum(
                (score.trained for institution, score in enumerate(scores) if institution not in gathered.dropped),
                NOTHING,
            ),
            held_out,
            [score.validation.mean_score for score in scores],
            [score.before.mean_score for score in scores],
            [score.held_out.mean_score for score in scores],
            drift=gathered.drift,
            distances=gathered.distances,
            dropped=gathered.dropped,
            moved=moved,
            epsilon=epsilon,
            clipped=clipped,
        )

    def _step(self, update: NDArray[np.float64] | None) -> bool:
        """Take the next model unless it has a value that is not a number; return whether it was taken."""
        following = None if update is None else self.server.step(self.model, update)
        if following is None or not aggregation.usable(following):
            return False
        self.model = following
        return True


class CentralisedWay:
    """The aggregator trains one model on the pooled images of all."""

    name = "centralised"

    def __init__(self, rank: Rank, start: Vector, pool: Mapping[int, Silo]) -> None:
        """`pool` has all institutions' images, on the aggregator's rank."""
        self.rank, self.model = rank, start
        self._pool = dict(pool)
        self._pooled_from: list[int] = []  # the institutions in `_pooled`
        self._pooled: Silo | None = None

    def round(self, number: int, chosen: Sequence[int]) -> Round | None:
        rank, ctx = self.rank, self.rank.ctx
        trained = NOTHING
        with ctx.phase("train"):
            if rank.here and chosen:
                trained = self._train(number, chosen)
        rank.agree()
        with ctx.phase("broadcast"):
            self.model = rank.channel.model(self.model if rank.here else None)
        scores, held_out = rank.common(self.model, {})
        if not rank.here:
            return None
        none = [float("nan")] * len(scores)
        return Round(trained, held_out, [score.validation.mean_score for score in scores], none)

    def _train(self, number: int, chosen: Sequence[int]) -> Sums:
        rank, params = self.rank, self.rank.params
        if self._pooled is None or self._pooled_from != list(chosen):
            images = np.concatenate([self._pool[institution].images for institution in chosen])
            labels = np.concatenate([self._pool[institution].labels for institution in chosen])
            self._pooled_from, self._pooled = list(chosen), Silo(images, labels, images[:0], labels[:0])
        order = batches(len(self._pooled.labels), params.batch, params.epochs, (params.seed, number, POOL))
        sums = rank.train(self._pooled, self.model, order)
        following = rank.learner.vector()
        if not aggregation.usable(following):
            return _spoiled(sums)
        self.model = following
        return sums


class AloneWay:
    """Every institution trains a model of its own, and sends nobody an update."""

    name = "alone"

    def __init__(self, rank: Rank, start: Vector) -> None:
        self.rank = rank
        self.models = {institution: start.copy() for institution in rank.living(rank.everybody)}

    def round(self, number: int, chosen: Sequence[int]) -> Round | None:
        rank, ctx = self.rank, self.rank.ctx
        trained: dict[int, Sums] = {}
        with ctx.phase("train"):
            for institution in rank.turns(chosen):
                sums = rank.train(rank.silos[institution], self.models[institution], rank.order(number, institution))
                following = rank.learner.vector()
                usable = aggregation.usable(following)
                self.models[institution] = following if usable else self.models[institution]
                trained[institution] = sums if usable else _spoiled(sums)
        rank.agree()
        with ctx.phase("evaluate"):
            local_scores = {
                institution: self._score(institution, trained.get(institution, NOTHING)) for institution in self.models
            }
        with ctx.phase("gather"):
            scores = rank.scores(local_scores)
        if not rank.here:
            return None
        validation, held_out = (
            [getattr(score, what).mean_score for score in scores] for what in ("validation", "held_out")
        )
        none = [float("nan")] * len(scores)
        dropped = [institution for institution in chosen if not math.isfinite(scores[institution].trained.loss)]
        return Round(
            sum((score.trained for institution, score in enumerate(scores) if institution not in dropped), NOTHING),
            sum((score.held_out for score in scores), NOTHING),
            validation,
            none,
            held_out,
            dropped=dropped,
        )

    def _score(self, institution: int, trained: Sums) -> InstitutionScore:
        rank, silo = self.rank, self.rank.silos[institution]
        rank.learner.load(self.models[institution])
        validation = rank.learner.test(silo.own_images, silo.own_labels)
        return InstitutionScore(trained, NOTHING, validation, rank.learner.test(*rank.held_out))


def _spoiled(sums: Sums) -> Sums:
    """Return the sums of a training whose model was dropped because it has values that are not numbers."""
    return Sums(math.nan, math.nan, sums.count)


Way = FederatedWay | CentralisedWay | AloneWay
