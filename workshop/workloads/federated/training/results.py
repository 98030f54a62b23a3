"""The results of the rounds: the events that the aggregator emits, and the metrics."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from workshop.engine.context import RankContext
from workshop.workloads.federated.messages import AGGREGATOR, InstitutionChannel
from workshop.workloads.federated.params import Learning
from workshop.workloads.federated.training.protection import attackers
from workshop.workloads.federated.training.rank import Round

HELD_OUT, OWN_DATA = "held-out", "own"  # begin the names of events, before the measure


def event(way: str, first: str, name: str) -> str:
    """Return the name of a way's event: the first way's are those that every workload has."""
    return name if way == first else f"{way} {name}"


def institution_event(number: int, what: str) -> str:
    """Return the name of an institution's event. `number` counts from 0, the name from 1."""
    return f"institution {number + 1} {what}"


class RoundResults:
    """Emits events on the aggregator's rank, and nothing elsewhere. `measure` is the word for what is measured, such as
    accuracy. The first way has the events `loss`, `accuracy`, `held-out loss`, `held-out accuracy`, `own accuracy` (the
    mean over institutions, each on its own validation images), `drift`, `bytes down`, `bytes up`, `dropped`, `clipped`,
    `epsilon`. Each institution has the "own" model's score before averaging, the "global" model's, its own model's on
    "held-out" images, and "distance". Events of other ways begin with the way's name. Metrics have the same names with
    underscores."""

    def __init__(self, ctx: RankContext, params: Learning, ways: Sequence[str], measure: str) -> None:
        self.ctx, self.params, self.ways, self.measure = ctx, params, ways, measure
        self.rounds: dict[str, list[Round]] = {way: [] for way in ways}
        self.dropped: list[dict[str, int]] = []
        self.skipped: list[int] = []
        self.took_part = [0] * params.institutions
        self._apart: dict[int, list[float]] = defaultdict(list)  # over the median of the round's
        self._clipped: list[float] = []
        self._epsilon: float | None = None
        self._up = self._down = 0

    def round(self, number: int, way: str, outcome: Round, channel: InstitutionChannel, chosen: Sequence[int]) -> None:
        """Emit the results of a round of a way."""
        first = way == self.ways[0]
        self.rounds[way].append(outcome)
        self._emit(event(way, self.ways[0], f"{HELD_OUT} {self.measure}"), outcome.held_out.mean_score, number)
        self._emit(event(way, self.ways[0], f"{OWN_DATA} {self.measure}"), outcome.own_score, number)
        if not first:
            return
        for institution in chosen:
            self.took_part[institution] += 1
        self._tell_dropped(number, outcome)
        self._tell_protection(number, outcome)
        if outcome.trained.count:
            self._emit("loss", outcome.trained.mean_loss, number)
            self._emit(self.measure, outcome.trained.mean_score, number)
        self._emit("held-out loss", outcome.held_out.mean_loss, number)
        if outcome.drift is not None:
            self._emit("drift", outcome.drift, number)
        self._emit("bytes down", channel.bytes_down - self._down, number)
        self._emit("bytes up", channel.bytes_up - self._up, number)
        self._down, self._up = channel.bytes_down, channel.bytes_up
        shared = {OWN_DATA if way == "alone" else "global": outcome.validation}
        for what, scores in [*shared.items(), (OWN_DATA, outcome.before), (HELD_OUT, outcome.held_out_each)]:
            for institution, score in enumerate(scores):
                if np.isfinite(score) or scores is outcome.validation:
                    self._emit(institution_event(institution, f"{what} {self.measure}"), score, number)

    def _tell_dropped(self, number: int, outcome: Round) -> None:
        """Publish at once which updates were not numbers, and whether the shared model stayed the same."""
        if outcome.dropped:
            self.dropped += [{"round": number, "institution": institution + 1} for institution in outcome.dropped]
            self._emit("dropped", len(outcome.dropped), number)
            self.ctx.publish(dropped=list(self.dropped))
        if not outcome.moved:
            self.skipped.append(number)
            self.ctx.publish(skipped=list(self.skipped))

    def _tell_protection(self, number: int, outcome: Round) -> None:
        """Emit the updates' distances, the share of clipped ones, and epsilon."""
        middle = float(np.median(list(outcome.distances.values()))) if outcome.distances else 0.0
        for institution, distance in outcome.distances.items():
            self._emit(institution_event(institution, "distance"), distance, number)
            if middle > 0:
                self._apart[institution].append(distance / middle)
        if outcome.clipped is not None:
            self._clipped.append(outcome.clipped)
            self._emit("clipped", outcome.clipped, number)
        if outcome.epsilon is not None:
            self._epsilon = outcome.epsilon
            self._emit("epsilon", outcome.epsilon, number)

    def speed(self, number: int, images: float) -> None:
        """Emit the images per second of all ranks in a round."""
        self._emit("total images/s", images, number)

    def _emit(self, name: str, value: float, number: int) -> None:
        if self.ctx.rank == AGGREGATOR:
            self.ctx.emit(name, value, number)

    def results(self, about: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """Return the metrics of all rounds and of the last one."""
        first = self.rounds[self.ways[0]]
        metrics = {"dropped": self.dropped, "skipped": self.skipped, **self._protection()}
        if not first:  # it was stopped before the first round was over
            return {"institutions": [dict(described) for described in about], "by_way": {}, **metrics}
        trained = [outcome.trained for outcome in first if outcome.trained.count]
        drifts = [outcome.drift for outcome in first if outcome.drift is not None]
        word = self.measure.lower()
        return {
            "institutions": [
                {**described, **self._of_institution(institution)} for institution, described in enumerate(about)
            ],
            "by_way": {way: _of_way(rounds) for way, rounds in self.rounds.items()},
            "loss": trained[-1].mean_loss if trained else None,
            "held_out_loss": first[-1].held_out.mean_loss,
            f"held_out_{word}": first[-1].held_out.mean_score,
            f"own_{word}": first[-1].own_score,
            "drift": float(np.mean(drifts)) if drifts else None,
            "participants": sum(self.took_part) / len(first),
            **metrics,
        }

    def _of_institution(self, institution: int) -> dict[str, Any]:
        """Return an institution's results. `distance` is the median over rounds, relative to the round's median."""
        scores = {way: rounds[-1].validation[institution] for way, rounds in self.rounds.items()}
        results: dict[str, Any] = {"took_part": self.took_part[institution], "own_score": scores}
        if institution in self._apart:
            results["distance"] = float(np.median(self._apart[institution]))
        if "alone" in self.rounds:
            results["held_out_alone"] = self.rounds["alone"][-1].held_out_each[institution]
        return results

    def _protection(self) -> dict[str, Any]:
        """Return the metrics of attack and defence. The attackers are secret until the run has ended."""
        metrics: dict[str, Any] = {"rule": self.params.rule} if self.params.guarded else {}
        if self.params.attacked:
            metrics["attackers"] = [institution + 1 for institution in attackers(self.params)]
        if self.params.privacy != "none":
            bounded = self._epsilon is not None and math.isfinite(self._epsilon)
            metrics["epsilon"] = self._epsilon if bounded else None
            metrics["clipped"] = float(np.mean(self._clipped)) if self._clipped else None
        return metrics


def _of_way(rounds: Sequence[Round]) -> dict[str, Any]:
    """Return the results of a way, with the scores of every round."""
    return {
        "held_out_score": rounds[-1].held_out.mean_score,
        "own_score": rounds[-1].own_score,
        "images_read": int(sum(outcome.trained.count for outcome in rounds)),
        "held_out": [came.held_out.mean_score for came in rounds],
        "own": [outcome.own_score for outcome in rounds],
    }
