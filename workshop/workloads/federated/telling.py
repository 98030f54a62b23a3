"""What the aggregator tells of the rounds, and keeps of them for the metrics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from workshop.engine.context import RankContext
from workshop.workloads.federated.guard_telling import GuardTelling
from workshop.workloads.federated.messages import AGGREGATOR, Line
from workshop.workloads.federated.params import Learning
from workshop.workloads.federated.rank import Round

HELD_OUT, OWN = "held-out", "own"  # before the word for what is measured; other ways have their name before that


def event(way: str, first: str, name: str) -> str:
    """The event by which a way tells something: the first way's are those that every workload has."""
    return name if way == first else f"{way} {name}"


def institution(number: int, what: str, measure: str) -> str:
    """The event that tells of one institution (counted from 0 here, from 1 where people read it): its "own" model's
    score before it is averaged, or the "global" model's, on its own validation images; or its own model's on "held-out"
    ones."""
    return f"institution {number + 1} {what} {measure}"


class Telling:
    """Events on the aggregator's rank, nothing elsewhere.

    `measure` is the word for what the task measures: accuracy, say. Of the first way: `loss` and `accuracy` of
    training, `held-out loss`, `held-out accuracy`, `own accuracy` (the mean over institutions, each on its own
    validation images), `drift`, `bytes down`, `bytes up`, and for each institution that of `institution`. Of other
    ways: accuracies, with the way's name before them. `dropped` where there were any: how many updates were no numbers.
    See `GuardTelling` for the rest. Metrics have underscores, and end with the same word.
    """

    def __init__(self, ctx: RankContext, params: Learning, ways: Sequence[str], measure: str) -> None:
        self.ctx, self.ways, self.measure = ctx, ways, measure
        self.told: dict[str, list[Round]] = {way: [] for way in ways}
        self.dropped: list[dict[str, int]] = []
        self.skipped: list[int] = []
        self.took_part = [0] * params.institutions
        self.guarded = GuardTelling(params)
        self._up = self._down = 0

    def round(self, number: int, way: str, came: Round, line: Line, chosen: Sequence[int]) -> None:
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
        for name, value in self.guarded.round(came):
            self._emit(name, value, number)
        if came.trained.count:
            self._emit("loss", came.trained.mean_loss, number)
            self._emit(self.measure, came.trained.mean_score, number)
        self._emit("held-out loss", came.held_out.mean_loss, number)
        if came.drift is not None:
            self._emit("drift", came.drift.relative, number)
        self._emit("bytes down", line.bytes_down - self._down, number)
        self._emit("bytes up", line.bytes_up - self._up, number)
        self._down, self._up = line.bytes_down, line.bytes_up
        for one, (own, before) in enumerate(zip(came.own, came.before, strict=True)):
            self._emit(institution(one, "own" if way == "alone" else "global", self.measure), own, number)
            if np.isfinite(before):
                self._emit(institution(one, "own", self.measure), before, number)
        for one, score in enumerate(came.held_out_each):
            if np.isfinite(score):
                self._emit(institution(one, HELD_OUT, self.measure), score, number)

    def _tell_dropped(self, number: int, came: Round) -> None:
        """Whose update was no number, and whether the shared model stayed what it was: known at once."""
        if came.dropped:
            self.dropped += [{"round": number, "institution": one + 1} for one in came.dropped]
            self._emit("dropped", len(came.dropped), number)
            self.ctx.known(dropped=list(self.dropped))
        if not came.moved:
            self.skipped.append(number)
            self.ctx.known(skipped=list(self.skipped))

    def speed(self, number: int, images: float) -> None:
        """Images that all ranks have learned from in a second of a round."""
        self._emit("total images/s", images, number)

    def _emit(self, name: str, value: float, number: int) -> None:
        if self.ctx.rank == AGGREGATOR:
            self.ctx.emit(name, value, number)

    def results(self, about: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """Metrics of all rounds and of the last one."""
        first = self.told[self.ways[0]]
        known = {"dropped": self.dropped, "skipped": self.skipped, **self.guarded.results()}
        if not first:  # it was stopped before the first round was over
            return {"institutions": [dict(one) for one in about], "by_way": {}, **known}
        last = first[-1]
        trained = [came.trained for came in first if came.trained.count]
        drifts = [came.drift.relative for came in first if came.drift is not None]
        everybody = []
        for one, described in enumerate(about):
            scores = {way: told[-1].own[one] for way, told in self.told.items()}
            more: dict[str, Any] = {"took_part": self.took_part[one], "own_score": scores, **self.guarded.of(one)}
            if "alone" in self.told:
                more["held_out_alone"] = self.told["alone"][-1].held_out_each[one]
            everybody.append({**described, **more})
        word = self.measure.lower()
        return {
            "institutions": everybody,
            "by_way": {way: _of_way(told) for way, told in self.told.items()},
            "loss": trained[-1].mean_loss if trained else None,
            "held_out_loss": last.held_out.mean_loss,
            f"held_out_{word}": last.held_out.mean_score,
            f"own_{word}": last.own_score,
            "drift": float(np.mean(drifts)) if drifts else None,
            "participants": sum(self.took_part) / len(first),
            **known,
        }


def _of_way(told: Sequence[Round]) -> dict[str, Any]:
    """What a way came to, and how: the scores of every round."""
    return {
        "held_out_score": told[-1].held_out.mean_score,
        "own_score": told[-1].own_score,
        "images_read": int(sum(came.trained.count for came in told)),
        "held_out": [came.held_out.mean_score for came in told],
        "own": [came.own_score for came in told],
    }
