"""What the aggregator tells of the rounds, and keeps of them for the metrics."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from workshop.engine.context import RankContext
from workshop.workloads.federated.communication.messages import AGGREGATOR, InstitutionChannel
from workshop.workloads.federated.params import Learning
from workshop.workloads.federated.training.protection import attackers
from workshop.workloads.federated.training.rank import Round

HELD_OUT, OWN = "held-out", "own"  # before the word for what is measured; other ways have their name before that


def event(way: str, first: str, name: str) -> str:
    """The event by which a way tells something: the first way's are those that every workload has."""
    return name if way == first else f"{way} {name}"


def institution(number: int, what: str) -> str:
    """The event that tells something of one institution, which is counted from 0 here and from 1 where people read
    it."""
    return f"institution {number + 1} {what}"


class RoundResults:
    """Events on the aggregator's rank, nothing elsewhere. Metrics have underscores and end with the same word.
    `measure` is the word for what is measured: accuracy, say. The first way tells `loss`, `accuracy`, `held-out loss`,
    `held-out accuracy`, `own accuracy` (the mean over institutions, each on its own validation images), `drift`, `bytes
    down`, `bytes up`, `dropped`, `clipped`, `epsilon` (the largest), and for each institution its "own" model's score
    before averaging, the "global" model's, its own on "held-out" images, "distance" and "epsilon". Other ways tell
    accuracies behind their name."""

    def __init__(self, ctx: RankContext, params: Learning, ways: Sequence[str], measure: str) -> None:
        self.ctx, self.params, self.ways, self.measure = ctx, params, ways, measure
        self.told: dict[str, list[Round]] = {way: [] for way in ways}
        self.dropped: list[dict[str, int]] = []
        self.skipped: list[int] = []
        self.took_part = [0] * params.institutions
        self._apart: dict[int, list[float]] = defaultdict(list)  # over the median of the round's
        self._clipped: list[float] = []
        self._epsilon: float | None = None
        self._epsilons: dict[int, float] = {}
        self._up = self._down = 0

    def round(self, number: int, way: str, came: Round, channel: InstitutionChannel, chosen: Sequence[int]) -> None:
        """What came of a round of a way."""
        first = way == self.ways[0]
        self.told[way].append(came)
        self._emit(event(way, self.ways[0], f"{HELD_OUT} {self.measure}"), came.held_out.mean_score, number)
        self._emit(event(way, self.ways[0], f"{OWN} {self.measure}"), came.own_score, number)
        if not first:
            return
        for one in chosen:
            self.took_part[one] += 1
        self._tell_dropped(number, came)
        self._tell_protection(number, came)
        if came.trained.count:
            self._emit("loss", came.trained.mean_loss, number)
            self._emit(self.measure, came.trained.mean_score, number)
        self._emit("held-out loss", came.held_out.mean_loss, number)
        if came.drift is not None:
            self._emit("drift", came.drift.relative, number)
        self._emit("bytes down", channel.bytes_down - self._down, number)
        self._emit("bytes up", channel.bytes_up - self._up, number)
        self._down, self._up = channel.bytes_down, channel.bytes_up
        shared = {OWN if way == "alone" else "global": came.own}
        for what, scores in [*shared.items(), (OWN, came.before), (HELD_OUT, came.held_out_each)]:
            for one, score in enumerate(scores):
                if np.isfinite(score) or scores is came.own:
                    self._emit(institution(one, f"{what} {self.measure}"), score, number)

    def _tell_dropped(self, number: int, came: Round) -> None:
        """Whose update was no number, and whether the shared model stayed what it was: known at once."""
        if came.dropped:
            self.dropped += [{"round": number, "institution": one + 1} for one in came.dropped]
            self._emit("dropped", len(came.dropped), number)
            self.ctx.known(dropped=list(self.dropped))
        if not came.moved:
            self.skipped.append(number)
            self.ctx.known(skipped=list(self.skipped))

    def _tell_protection(self, number: int, came: Round) -> None:
        """Who lies far from the others, what was clipped, and what noise promises."""
        distances = came.drift.distances if came.drift is not None else {}
        middle = float(np.median(list(distances.values()))) if distances else 0.0
        for one, distance in distances.items():
            self._emit(institution(one, "distance"), distance, number)
            if middle > 0:
                self._apart[one].append(distance / middle)
        if came.guarded.clipped is not None:
            self._clipped.append(came.guarded.clipped)
            self._emit("clipped", came.guarded.clipped, number)
        if came.guarded.epsilon is not None:
            self._epsilon, self._epsilons = came.guarded.epsilon, dict(came.guarded.epsilons)
            self._emit("epsilon", came.guarded.epsilon, number)
            for one, epsilon in self._epsilons.items():
                self._emit(institution(one, "epsilon"), epsilon, number)

    def speed(self, number: int, images: float) -> None:
        """Images that all ranks have learned from in a second of a round."""
        self._emit("total images/s", images, number)

    def _emit(self, name: str, value: float, number: int) -> None:
        if self.ctx.rank == AGGREGATOR:
            self.ctx.emit(name, value, number)

    def results(self, about: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """Metrics of all rounds and of the last one."""
        first = self.told[self.ways[0]]
        known = {"dropped": self.dropped, "skipped": self.skipped, **self._protection()}
        if not first:  # it was stopped before the first round was over
            return {"institutions": [dict(one) for one in about], "by_way": {}, **known}
        trained = [came.trained for came in first if came.trained.count]
        drifts = [came.drift.relative for came in first if came.drift is not None]
        word = self.measure.lower()
        return {
            "institutions": [{**described, **self._of(one)} for one, described in enumerate(about)],
            "by_way": {way: _of_way(told) for way, told in self.told.items()},
            "loss": trained[-1].mean_loss if trained else None,
            "held_out_loss": first[-1].held_out.mean_loss,
            f"held_out_{word}": first[-1].held_out.mean_score,
            f"own_{word}": first[-1].own_score,
            "drift": float(np.mean(drifts)) if drifts else None,
            "participants": sum(self.took_part) / len(first),
            **known,
        }

    def _of(self, one: int) -> dict[str, Any]:
        """What an institution came to; `distance` is the median over rounds, in units of the one in the middle."""
        scores = {way: told[-1].own[one] for way, told in self.told.items()}
        found: dict[str, Any] = {"took_part": self.took_part[one], "own_score": scores}
        if one in self._apart:
            found["distance"] = float(np.median(self._apart[one]))
        if one in self._epsilons:
            found["epsilon"] = self._epsilons[one]
        if "alone" in self.told:
            found["held_out_alone"] = self.told["alone"][-1].held_out_each[one]
        return found

    def _protection(self) -> dict[str, Any]:
        """Metrics of attack and defence; who was poisoned is told now, not before."""
        found: dict[str, Any] = {"rule": self.params.rule} if self.params.guarded else {}
        if self.params.attacked:
            found["attackers"] = [one + 1 for one in attackers(self.params)]
        if self.params.privacy != "none":
            told = self._epsilon is not None and math.isfinite(self._epsilon)
            found["epsilon"] = self._epsilon if told else None
            found["clipped"] = float(np.mean(self._clipped)) if self._clipped else None
        return found


def _of_way(told: Sequence[Round]) -> dict[str, Any]:
    """What a way came to, and how: the scores of every round."""
    return {
        "held_out_score": told[-1].held_out.mean_score,
        "own_score": told[-1].own_score,
        "images_read": int(sum(came.trained.count for came in told)),
        "held_out": [came.held_out.mean_score for came in told],
        "own": [came.own_score for came in told],
    }
