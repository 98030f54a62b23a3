"""The work of a rank that all ways of learning have in common, and the results of a round."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from workshop.engine.context import RankContext
from workshop.engine.data import shard
from workshop.workloads.federated import messages
from workshop.workloads.federated.mathematics.partition import batches
from workshop.workloads.federated.messages import AGGREGATOR, InstitutionChannel, home
from workshop.workloads.federated.params import Learning
from workshop.workloads.federated.training.learner import LocalLearner, Sums, Vector
from workshop.workloads.federated.training.task import Labels, Silo

NOTHING = Sums()
SAMPLE = 256  # held-out images on which trained models are tested in every round, before they are averaged


@dataclass(frozen=True)
class InstitutionScore:
    """An institution's sums of a round: `trained` over its training images; `before` and `validation` over its
    validation images, with its model before averaging and with the model that it goes on with; `held_out` over held-out
    images, with its model before averaging."""

    trained: Sums = NOTHING
    before: Sums = NOTHING
    validation: Sums = NOTHING
    held_out: Sums = NOTHING

    def message(self) -> NDArray[np.float64]:
        parts = (self.trained, self.before, self.validation, self.held_out)
        return np.array([value for part in parts for value in part.values()])

    @staticmethod
    def read(message: NDArray[np.float64]) -> InstitutionScore:
        return InstitutionScore(*(Sums(*part) for part in message.reshape(4, 3).tolist()))


@dataclass(frozen=True)
class Round:
    """The results of a round at the aggregator. Scores are from 0 to 1 [institutions], NaN where there is none."""

    trained: Sums
    held_out: Sums  # where institutions have models of their own, the sum over all models
    validation: list[float]  # each one's next model on its own validation images
    before: list[float]  # the model that each one has trained, before averaging, on the same images
    held_out_each: list[float] = field(default_factory=list)  # the model that each one has trained, on held-out images
    drift: float | None = None  # how far updates are from their mean, over its length
    distances: Mapping[int, float] = field(default_factory=dict)  # of each update from the others
    dropped: Sequence[int] = ()  # institutions whose update was not a number
    moved: bool = True  # whether the shared model has changed
    epsilon: float | None = None  # of all rounds so far; None without noise
    clipped: float | None = None  # share of the updates that were clipped

    @property
    def own_score(self) -> float:
        """The mean over institutions, all with the same weight."""
        return float(np.mean(self.validation))


class RoundStopped(Exception):
    """All ranks have agreed to leave a round early: some of them have stopped training."""


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
        self.everybody = range(params.institutions)
        self.images_read = 0
        self._cut_short = False

    def living(self, institutions: Sequence[int]) -> Iterator[int]:
        """Return the institutions that live on this rank."""
        return (number for number in institutions if home(number, self.ctx.size) == self.ctx.rank)

    def turns(self, chosen: Sequence[int]) -> Iterator[int]:
        """Yield the chosen institutions that live on this rank, until a stop is requested."""
        for institution in self.living(chosen):
            if self._ends():
                return
            yield institution

    def _ends(self) -> bool:
        self._cut_short = self._cut_short or self.ctx.stop_heard()
        return self._cut_short

    def agree(self) -> None:
        """Wait for all ranks at the end of training. Raises RoundStopped on all of them where one was stopped."""
        from mpi4py import MPI

        self.ctx.synchronise()
        if self.ctx.comm.allreduce(int(self._cut_short), op=MPI.MAX):
            raise RoundStopped

    def train(self, silo: Silo, start: Vector, order: Sequence[NDArray[np.int64]]) -> Sums:
        """Train on an institution's images, starting with these weights."""
        self.learner.load(start)
        sums = self.learner.train(silo.images, silo.labels, order, self._ends)
        self.images_read += int(sums.count)
        return sums

    def order(self, number: int, institution: int) -> list[NDArray[np.int64]]:
        """Return the batches that an institution reads in a round."""
        params, count = self.params, len(self.silos[institution].labels)
        seed = (params.seed, number, institution)
        return batches(count, params.batch, params.epochs, seed)

    def test_share(self, model: Vector) -> Sums:
        """Test a model on all held-out images, each rank on its share. Return the sums on the aggregator's rank."""
        images, labels = self.held_out
        part = slice(*shard(len(labels), self.ctx.size, self.ctx.rank))
        self.learner.load(model)
        share = self.learner.test(images[part], labels[part])
        shares = self.channel.from_ranks(messages.SHARE, np.array(share.values()))
        return sum((Sums(*message.tolist()) for message in shares), NOTHING)

    def test_sample(self) -> Sums:
        """Test the model that was trained last on the first held-out images: all would take longer than training."""
        images, labels = self.held_out
        return self.learner.test(images[:SAMPLE], labels[:SAMPLE])

    def scores(self, local_scores: Mapping[int, InstitutionScore]) -> list[InstitutionScore]:
        """Return all institutions' scores, on the aggregator's rank."""
        outgoing = {number: score.message() for number, score in local_scores.items()}
        received = self.channel.from_institutions(messages.SCORE, outgoing, self.everybody)
        return [InstitutionScore.read(received[number]) for number in sorted(received)]

    def common(self, model: Vector, trained: Mapping[int, InstitutionScore]) -> tuple[list[InstitutionScore], Sums]:
        """Test a shared model at all institutions and on held-out images. Return all scores, those in `trained`
        included, and the held-out sums."""
        with self.ctx.phase("evaluate"):
            held_out = self.test_share(model)
            local_scores = {}
            for number in self.living(self.everybody):
                silo = self.silos[number]
                validation = self.learner.test(silo.own_images, silo.own_labels)
                local_scores[number] = replace(trained.get(number, InstitutionScore()), validation=validation)
            return self.scores(local_scores), held_out
