"""What all ways of learning have in common on a rank, and what comes of a round."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from workshop.engine.context import RankContext
from workshop.engine.data.shards import shard
from workshop.workloads.federated.communication import messages
from workshop.workloads.federated.communication.messages import AGGREGATOR, InstitutionChannel, home
from workshop.workloads.federated.mathematics import aggregation
from workshop.workloads.federated.mathematics.sampling import batches
from workshop.workloads.federated.params import Learning
from workshop.workloads.federated.training.learner import LocalLearner, Sums, Vector
from workshop.workloads.federated.training.task import Labels, Silo

NOTHING = Sums()
SAMPLE = 256  # held-out images, on which models that are about to be averaged are tested in every round


@dataclass(frozen=True)
class InstitutionScore:
    """What an institution tells of a round: of training, of its model before averaging and of the one that it goes on
    with on its own validation images, and of the former on held-out images."""

    trained: Sums = NOTHING
    before: Sums = NOTHING
    own: Sums = NOTHING
    held_out: Sums = NOTHING

    def message(self) -> NDArray[np.float64]:
        parts = (self.trained, self.before, self.own, self.held_out)
        return np.array([value for part in parts for value in part.values()])

    @staticmethod
    def read(message: NDArray[np.float64]) -> InstitutionScore:
        return InstitutionScore(*(Sums(*part) for part in message.reshape(4, 3).tolist()))


@dataclass(frozen=True)
class PrivacySpent:
    """Epsilon until now, the largest and by institution where they differ, None without noise; and the share of updates
    or gradients that were `clipped`."""

    epsilon: float | None = None
    epsilons: Mapping[int, float] = field(default_factory=dict)
    clipped: float | None = None


@dataclass(frozen=True)
class Round:
    """What came of a round, as the aggregator knows it. Scores are from 0 to 1 [institutions], NaN where there is
    none."""

    trained: Sums
    held_out: Sums  # where institutions have models of their own, added up over these
    own: list[float]  # of the model that each goes on with, on its own validation images
    before: list[float]  # of the model that each has trained, before it is averaged
    held_out_each: list[float] = field(default_factory=list)  # of the model that each has trained, on held-out images
    drift: aggregation.Drift | None = None
    dropped: list[int] = field(default_factory=list)  # institutions whose update was no number
    moved: bool = True  # whether the shared model is another one than before
    guarded: PrivacySpent = field(default_factory=PrivacySpent)

    @property
    def own_score(self) -> float:
        """The mean over institutions, each counting as much as the next."""
        return float(np.mean(self.own))


class RoundStopped(Exception):
    """All ranks have agreed to leave a round that isn't over: some of them didn't train all that it asked for."""


class Rank:
    """One rank's part in one way of learning."""

    def __init__(
        self,
        ctx: RankContext,
        params: Learning,
        learner: LocalLearner,
        channel: InstitutionChannel,
        silos: Mapping[int, Silo],
        held_out: tuple[NDArray[np.float32], Labels],
    ) -> None:
        self.ctx, self.params, self.learner, self.channel = ctx, params, learner, channel
        self.silos = dict(silos)
        self.held_out = held_out
        self.here = ctx.rank == AGGREGATOR
        self.images_read = 0
        self._cut_short = False

    def living(self, institutions: Sequence[int]) -> Iterator[int]:
        """Those of some institutions that live on this rank."""
        return (number for number in institutions if home(number, self.ctx.size) == self.ctx.rank)

    def turns(self, chosen: Sequence[int]) -> Iterator[int]:
        """Those of the chosen that live on this rank, one after the other, until it hears of a stop."""
        for one in self.living(chosen):
            if self._ends():
                return
            yield one

    def _ends(self) -> bool:
        self._cut_short = self._cut_short or self.ctx.stop_heard()
        return self._cut_short

    def agree(self) -> None:
        """Wait for all ranks at the end of training. Raises RoundStopped on all of them where one has heard of a
        stop."""
        from mpi4py import MPI

        self.ctx.synchronise()
        if self.ctx.comm.allreduce(int(self._cut_short), op=MPI.MAX):
            raise RoundStopped

    @property
    def everybody(self) -> range:
        return range(self.params.institutions)

    def train(self, silo: Silo, start: Vector, order: Sequence[NDArray[np.int64]]) -> Sums:
        """Train on an institution's images, from these weights on."""
        self.learner.load(start)
        told = self.learner.train(silo.images, silo.labels, order, self._ends)
        self.images_read += int(told.count)
        return told

    def order(self, number: int, institution: int) -> list[NDArray[np.int64]]:
        """The batches that an institution reads in a round."""
        params, count = self.params, len(self.silos[institution].labels)
        seed = (params.seed, number, institution)
        return batches(count, params.batch, epochs=params.epochs, steps=params.steps, seed=seed)

    def test_share(self, model: Vector) -> Sums:
        """A model on all held-out images, of which each rank takes its share; known to the aggregator."""
        images, labels = self.held_out
        part = slice(*shard(len(labels), self.ctx.size, self.ctx.rank))
        self.learner.load(model)
        share = self.learner.test(images[part], labels[part])
        shares = self.channel.from_ranks(messages.SHARE, np.array(share.values()))
        return sum((Sums(*one.tolist()) for one in shares), NOTHING)

    def test_sample(self) -> Sums:
        """The model that was trained last on the first held-out images: all would take longer than training it."""
        images, labels = self.held_out
        return self.learner.test(images[:SAMPLE], labels[:SAMPLE])

    def scores(self, mine: Mapping[int, InstitutionScore]) -> list[InstitutionScore]:
        """All institutions' scores, on the aggregator's rank."""
        told = {number: score.message() for number, score in mine.items()}
        found = self.channel.from_institutions(messages.SCORE, told, self.everybody)
        return [InstitutionScore.read(found[number]) for number in sorted(found)]

    def common(self, model: Vector, told: Mapping[int, InstitutionScore]) -> tuple[list[InstitutionScore], Sums]:
        """What institutions make of one shared model, beside what some have `told` of training, and its held-out
        score."""
        with self.ctx.phase("evaluate"):
            held_out = self.test_share(model)
            mine = {}
            for number in self.living(self.everybody):
                silo = self.silos[number]
                own = self.learner.test(silo.own_images, silo.own_labels)
                mine[number] = replace(told.get(number, InstitutionScore()), own=own)
            return self.scores(mine), held_out
