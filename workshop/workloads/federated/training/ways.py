"""Three ways to learn from images that belong to several institutions: each rank's part in a round of each.

All begin with the same weights, and in each round the same institutions read as many of their images as often, in
batches of the same size; so after as many rounds they can be compared. Pooled images are one institution's more: it
lives with the aggregator, and takes all the steps one after the other. Beside an attack, a defence or compression the
same federation learns without it, too.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from workshop.workloads.federated.communication import uplink
from workshop.workloads.federated.mathematics import aggregation
from workshop.workloads.federated.mathematics.sampling import batches
from workshop.workloads.federated.params import Learning
from workshop.workloads.federated.training.learner import Sums, Vector
from workshop.workloads.federated.training.protection import Protection
from workshop.workloads.federated.training.rank import NOTHING, InstitutionScore, Rank, Round
from workshop.workloads.federated.training.task import Silo

POOL = 1 << 20  # the number of the pooled images where institutions have theirs
THREE = ("federated", "centralised", "alone")
PLAIN, UNDEFENDED, WHOLE = "plain", "undefended", "whole"  # federated, too


def ways_of(params: Learning) -> dict[str, Learning]:
    """Ways by name, the first one first. `plain` is without attack, robust rule and privacy, `undefended` with the
    attack alone, `whole` without compression; none where it would be the same as another one."""
    found = dict.fromkeys(THREE if params.way == "all" else (params.way,), params)
    if params.guarded and params.beside and "federated" in found:
        found[PLAIN] = _with(params, attack="none", rule="mean", privacy="none")
        undefended = _with(params, rule="mean", privacy="none")
        if params.attacked and undefended != params:
            found[UNDEFENDED] = undefended
    if params.compression != "none" and params.beside and "federated" in found:
        found[WHOLE] = _with(params, compression="none")
    return found


def _with(params: Learning, **changes: str) -> Learning:
    return params.model_copy(update=changes)


class FederatedWay:
    """Institutions train what the aggregator sends; the aggregator averages what they have added to it."""

    def __init__(self, rank: Rank, start: Vector, name: str, images: Sequence[int]) -> None:
        """`images` are those that each institution learns from."""
        self.rank, self.model, self.name = rank, start, name
        self.first = name == "federated"  # others are there to be compared by what comes out
        self.server = aggregation.server(rank.params.algorithm, rank.params.server_rate)
        self.uplink = uplink(rank.ctx, rank.channel, rank.params)
        self.guard = Protection(rank, images)

    def round(self, number: int, chosen: Sequence[int]) -> Round | None:
        """One round. Collective; what came of it, on the aggregator's rank."""
        rank, ctx = self.rank, self.rank.ctx
        updates, told = {}, {}
        with ctx.phase("train"):
            for one in rank.turns(chosen):
                trained = rank.train(rank.silos[one], self.model, self.guard.order(number, one))
                updates[one] = self.guard.outgoing(one, rank.learner.vector() - self.model)
                before = rank.learner.test(rank.silos[one].own_images, rank.silos[one].own_labels)
                told[one] = InstitutionScore(trained, before, held_out=rank.test_sample() if self.first else NOTHING)
        rank.agree()
        images = self.guard.weights({one: len(rank.silos[one].labels) for one in updates})
        gathered = self.uplink.gather(number, updates, images, chosen)
        guarded = self.guard.told(chosen)
        with ctx.phase("aggregate"):
            moved = self._step(self.guard.incoming(number, gathered, chosen))
        with ctx.phase("broadcast"):
            self.model = rank.channel.model(self.model if rank.here else None)
        scores, held_out = rank.common(self.model, told)
        if not rank.here:
            return None
        return Round(
            sum((score.trained for one, score in enumerate(scores) if one not in gathered.dropped), NOTHING),
            held_out,
            [score.own.mean_score for score in scores],
            [score.before.mean_score for score in scores],
            [score.held_out.mean_score for score in scores],
            drift=gathered.drift,
            dropped=gathered.dropped,
            moved=moved,
            guarded=guarded,
        )

    def _step(self, update: NDArray[np.float64] | None) -> bool:
        """Whether there is a next model: where it would be no number, everybody goes on with what was good."""
        following = None if update is None else self.server.step(self.model, update)
        if following is None or not aggregation.usable(following):
            return False
        self.model = following
        return True


class CentralisedWay:
    """One model trained on the pooled images of all, by the aggregator."""

    name = "centralised"

    def __init__(self, rank: Rank, start: Vector, pool: Mapping[int, Silo]) -> None:
        """`pool` holds everybody's images, on the aggregator's rank."""
        self.rank, self.model = rank, start
        self._pool = dict(pool)
        self._of: list[int] = []
        self._pooled: Silo | None = None  # the images of those

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
        return Round(trained, held_out, [score.own.mean_score for score in scores], none)

    def _train(self, number: int, chosen: Sequence[int]) -> Sums:
        rank, params = self.rank, self.rank.params
        if self._pooled is None or self._of != list(chosen):
            images = np.concatenate([self._pool[one].images for one in chosen])
            labels = np.concatenate([self._pool[one].labels for one in chosen])
            self._of, self._pooled = list(chosen), Silo(images, labels, images[:0], labels[:0])
        steps = None if params.steps is None else params.steps * len(chosen)
        seed = (params.seed, number, POOL)
        order = batches(len(self._pooled.labels), params.batch, epochs=params.epochs, steps=steps, seed=seed)
        told = rank.train(self._pooled, self.model, order)
        following = rank.learner.vector()
        if not aggregation.usable(following):
            return _spoiled(told)
        self.model = following
        return told


class AloneWay:
    """Every institution trains a model of its own, and nobody hears of it."""

    name = "alone"

    def __init__(self, rank: Rank, start: Vector) -> None:
        self.rank = rank
        self.models = {one: start.copy() for one in rank.living(rank.everybody)}

    def round(self, number: int, chosen: Sequence[int]) -> Round | None:
        rank, ctx = self.rank, self.rank.ctx
        trained: dict[int, Sums] = {}
        with ctx.phase("train"):
            for one in rank.turns(chosen):
                told = rank.train(rank.silos[one], self.models[one], rank.order(number, one))
                following = rank.learner.vector()
                usable = aggregation.usable(following)
                self.models[one] = following if usable else self.models[one]
                trained[one] = told if usable else _spoiled(told)
        rank.agree()
        with ctx.phase("evaluate"):
            mine = {one: self._score(one, trained.get(one, NOTHING)) for one in self.models}
        with ctx.phase("gather"):
            scores = rank.scores(mine)
        if not rank.here:
            return None
        own, held_out = ([getattr(score, what).mean_score for score in scores] for what in ("own", "held_out"))
        none = [float("nan")] * len(scores)
        dropped = [one for one in chosen if not math.isfinite(scores[one].trained.loss)]
        return Round(
            sum((score.trained for one, score in enumerate(scores) if one not in dropped), NOTHING),
            sum((score.held_out for score in scores), NOTHING),
            own,
            none,
            held_out,
            dropped=dropped,
        )

    def _score(self, one: int, trained: Sums) -> InstitutionScore:
        rank, silo = self.rank, self.rank.silos[one]
        rank.learner.load(self.models[one])
        own = rank.learner.test(silo.own_images, silo.own_labels)
        return InstitutionScore(trained, NOTHING, own, rank.learner.test(*rank.held_out))


def _spoiled(told: Sums) -> Sums:
    """What is told of training that ended in a model that is no number, and was thrown away."""
    return Sums(math.nan, math.nan, told.count)


Way = FederatedWay | CentralisedWay | AloneWay
