"""Three ways to learn from images that belong to several institutions: each rank's part in a round of each.

All begin with the same weights, and in each round the same institutions read as many of their images as often, in
batches of the same size; so after as many rounds they can be compared. Pooled images are one institution's more: it
lives with the aggregator, and takes all the steps one after the other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from workshop.workloads.federated import aggregate, messages
from workshop.workloads.federated.local import Silo, Sums, Vector
from workshop.workloads.federated.rank import NOTHING, Rank, Round, Score
from workshop.workloads.federated.reading import batches

POOL = 1 << 20  # the number of the pooled images where institutions have theirs


class Federated:
    """Institutions train what the aggregator sends; the aggregator averages what they have added to it."""

    name = "federated"

    def __init__(self, rank: Rank, start: Vector) -> None:
        self.rank, self.model = rank, start
        self.server = aggregate.server(rank.params.algorithm, rank.params.server_rate)

    def round(self, number: int, chosen: Sequence[int]) -> Round | None:
        """One round. Collective; what came of it, on the aggregator's rank."""
        rank, ctx = self.rank, self.rank.ctx
        updates, trained, before = {}, {}, {}
        with ctx.phase("train"):
            for one in rank.living(chosen):
                trained[one] = rank.train(rank.silos[one], self.model, rank.order(number, one))
                updates[one] = rank.learner.vector() - self.model
                before[one] = rank.learner.test(rank.silos[one].own_images, rank.silos[one].own_labels)
        ctx.synchronise()
        with ctx.phase("gather"):
            counts = {one: np.array([len(rank.silos[one].labels)], np.int64) for one in updates}
            found = rank.line.from_institutions(messages.UPDATE, updates, chosen)
            weights = rank.line.from_institutions(messages.COUNT, counts, chosen)
        drift, dropped = None, []
        with ctx.phase("aggregate"):
            if rank.here:
                dropped = [one for one, update in found.items() if not aggregate.usable(update)]
                used = [one for one in found if one not in dropped]
                if used:
                    drift = self._step([found[one] for one in used], [int(weights[one][0]) for one in used])
        with ctx.phase("broadcast"):
            self.model = rank.line.model(self.model if rank.here else None)
        scores, held_out = rank.common(self.model, trained, before)
        if not rank.here:
            return None
        return Round(
            sum((score.trained for one, score in enumerate(scores) if one not in dropped), NOTHING),
            held_out,
            [score.own.accuracy for score in scores],
            [score.before.accuracy for score in scores],
            drift=drift,
            dropped=dropped,
        )

    def _step(self, updates: Sequence[Vector], counts: Sequence[int]) -> aggregate.Drift:
        """The aggregator's: the next shared model, unless that would be no number."""
        following = self.server.step(self.model, aggregate.mean(updates, counts))
        if aggregate.usable(following):
            self.model = following
        return aggregate.drift(updates, counts)


class Centralised:
    """One model trained on the pooled images of all, by the aggregator."""

    name = "centralised"

    def __init__(self, rank: Rank, start: Vector, pool: Mapping[int, Silo]) -> None:
        """`pool` holds everybody's images, on the aggregator's rank."""
        self.rank, self.model = rank, start
        self._pool = dict(pool)

    def round(self, number: int, chosen: Sequence[int]) -> Round | None:
        rank, ctx = self.rank, self.rank.ctx
        trained = NOTHING
        with ctx.phase("train"):
            if rank.here:
                trained = self._train(number, chosen)
        ctx.synchronise()
        with ctx.phase("broadcast"):
            self.model = rank.line.model(self.model if rank.here else None)
        scores, held_out = rank.common(self.model, {}, {})
        if not rank.here:
            return None
        none = [float("nan")] * len(scores)
        return Round(trained, held_out, [score.own.accuracy for score in scores], none)

    def _train(self, number: int, chosen: Sequence[int]) -> Sums:
        rank, params = self.rank, self.rank.params
        pooled = [self._pool[one] for one in chosen]
        images = np.concatenate([silo.images for silo in pooled])
        labels = np.concatenate([silo.labels for silo in pooled])
        steps = None if params.steps is None else params.steps * len(chosen)
        seed = (params.seed, number, POOL)
        order = batches(len(labels), params.batch, epochs=params.epochs, steps=steps, seed=seed)
        told = rank.train(Silo(images, labels, images[:0], labels[:0]), self.model, order)
        following = rank.learner.vector()
        if aggregate.usable(following):
            self.model = following
        return told


class Alone:
    """Every institution trains a model of its own, and nobody hears of it."""

    name = "alone"

    def __init__(self, rank: Rank, start: Vector) -> None:
        self.rank = rank
        self.models = {one: start.copy() for one in rank.living(rank.everybody)}

    def round(self, number: int, chosen: Sequence[int]) -> Round | None:
        rank, ctx = self.rank, self.rank.ctx
        trained: dict[int, Sums] = {}
        with ctx.phase("train"):
            for one in rank.living(chosen):
                trained[one] = rank.train(rank.silos[one], self.models[one], rank.order(number, one))
                following = rank.learner.vector()
                if aggregate.usable(following):
                    self.models[one] = following
        with ctx.phase("evaluate"):
            mine = {one: self._score(one, trained.get(one, NOTHING)) for one in self.models}
        ctx.synchronise()
        with ctx.phase("gather"):
            scores = rank.scores(mine)
        if not rank.here:
            return None
        own, held_out = ([getattr(score, what).accuracy for score in scores] for what in ("own", "held_out"))
        none = [float("nan")] * len(scores)
        return Round(
            sum((score.trained for score in scores), NOTHING),
            sum((score.held_out for score in scores), NOTHING),
            own,
            none,
            held_out,
        )

    def _score(self, one: int, trained: Sums) -> Score:
        rank, silo = self.rank, self.rank.silos[one]
        rank.learner.load(self.models[one])
        own = rank.learner.test(silo.own_images, silo.own_labels)
        return Score(trained, NOTHING, own, rank.learner.test(*rank.held_out))


Way = Federated | Centralised | Alone
