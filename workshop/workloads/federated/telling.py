"""What the aggregator tells of the rounds, and keeps of them for the metrics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from workshop.engine.context import RankContext
from workshop.workloads.federated import FederatedParams
from workshop.workloads.federated.messages import AGGREGATOR, Line
from workshop.workloads.federated.rank import Round

HELD_OUT, OWN = "held-out accuracy", "own accuracy"  # of the first way; others have their name before it


def event(way: str, first: str, name: str) -> str:
    """The event by which a way tells something: the first way's are those that every workload has."""
    return name if way == first else f"{way} {name}"


def institution(number: int, what: str) -> str:
    """The event that tells of one institution (counted from 0 here, from 1 where people read it): its "own" model's
    accuracy before it is averaged, or the "global" model's, on its own validation images."""
    return f"institution {number + 1} {what} accuracy"


class Telling:
    """Events on the aggregator's rank, nothing elsewhere.

    Of the first way: `loss` and `accuracy` of training, `held-out loss`, `held-out accuracy`, `own accuracy` (the mean
    over institutions, each on its own validation images), `drift`, `bytes down`, `bytes up`, and for each institution
    that of `institution`. Of other ways: accuracies, with the way's name before them.
    """

    def __init__(self, ctx: RankContext, params: FederatedParams, ways: Sequence[str]) -> None:
        self.ctx, self.params, self.ways = ctx, params, ways
        self.told: dict[str, list[Round]] = {way: [] for way in ways}
        self.dropped: list[dict[str, int]] = []
        self.took_part = [0] * params.institutions
        self._up = self._down = 0

    def round(self, number: int, way: str, came: Round, line: Line, chosen: Sequence[int]) -> None:
        """What came of a round of a way."""
        first = way == self.ways[0]
        self.told[way].append(came)
        self._emit(event(way, self.ways[0], HELD_OUT), came.held_out.accuracy, number)
        self._emit(event(way, self.ways[0], OWN), came.own_accuracy, number)
        if not first:
            return
        for one in chosen:
            self.took_part[one] += 1
        self.dropped += [{"round": number, "institution": one + 1} for one in came.dropped]
        self._emit("loss", came.trained.mean_loss, number)
        self._emit("accuracy", came.trained.accuracy, number)
        self._emit("held-out loss", came.held_out.mean_loss, number)
        if came.drift is not None:
            self._emit("drift", came.drift.relative, number)
        self._emit("bytes down", line.bytes_down - self._down, number)
        self._emit("bytes up", line.bytes_up - self._up, number)
        self._down, self._up = line.bytes_down, line.bytes_up
        for one, (own, before) in enumerate(zip(came.own, came.before, strict=True)):
            self._emit(institution(one, "own" if way == "alone" else "global"), own, number)
            if np.isfinite(before):
                self._emit(institution(one, "own"), before, number)

    def speed(self, number: int, images: float) -> None:
        """Images that all ranks have learned from in a second of a round."""
        self._emit("total images/s", images, number)

    def _emit(self, name: str, value: float, number: int) -> None:
        if self.ctx.rank == AGGREGATOR:
            self.ctx.emit(name, value, number)

    def results(self, about: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """Metrics of all rounds and of the last one."""
        first = self.told[self.ways[0]]
        last = first[-1]
        drifts = [came.drift.relative for came in first if came.drift is not None]
        everybody = []
        for one, known in enumerate(about):
            accuracy = {way: told[-1].own[one] for way, told in self.told.items()}
            more: dict[str, Any] = {"took_part": self.took_part[one], "own_accuracy": accuracy}
            if "alone" in self.told:
                more["held_out_alone"] = self.told["alone"][-1].held_out_each[one]
            everybody.append({**known, **more})
        return {
            "institutions": everybody,
            "by_way": {way: _of_way(told) for way, told in self.told.items()},
            "loss": last.trained.mean_loss,
            "held_out_loss": last.held_out.mean_loss,
            "held_out_accuracy": last.held_out.accuracy,
            "own_accuracy": last.own_accuracy,
            "drift": float(np.mean(drifts)) if drifts else None,
            "dropped": self.dropped,
            "participants": sum(self.took_part) / len(first),
        }


def _of_way(told: Sequence[Round]) -> dict[str, Any]:
    """What a way came to, and how: accuracies of every round."""
    return {
        "held_out_accuracy": told[-1].held_out.accuracy,
        "own_accuracy": told[-1].own_accuracy,
        "images_read": int(sum(came.trained.count for came in told)),
        "held_out": [came.held_out.accuracy for came in told],
        "own": [came.own_accuracy for came in told],
    }
