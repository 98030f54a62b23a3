"""The results of an OpenFL federation: the events and metrics of the workload `federated`, so that the same panels show
both, and the lists `fx`, `certificates` and `faults`.

OpenFL counts rounds from 0, and each round first tests the model of the round before. So the training of our round k is
in OpenFL's line k - 1, and its model's accuracies at the institutions are in line k.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from workshop.engine.context import RankContext
from workshop.workloads.federated.training.learner import LocalLearner, Sums
from workshop.workloads.federated.training.results import HELD_OUT, OWN_DATA, institution_event
from workshop.workloads.federated.training.task import LearningTask
from workshop.workloads.openfl import OpenFLParams, workspace
from workshop.workloads.openfl.environment import OPENFL
from workshop.workloads.openfl.parties import ROUND

SHARED, TUNED, TRAIN = "aggregated_model_validation", "locally_tuned_model_validation", "train"  # tasks of the plan
WAY = "federated"
Line = Mapping[str, Any]  # of metrics: `NAME/TASK/METRIC` and others


class OpenFLResults:
    """Reads OpenFL's metrics, and emits them round by round."""

    def __init__(
        self,
        ctx: RankContext,
        params: OpenFLParams,
        task: LearningTask,
        learner: LocalLearner,
        saved: Path,
        began: float,
    ) -> None:
        """`saved` is the folder with the model of every round; `began` is the run's start on the monotonic clock."""
        self.ctx, self.params, self.task, self.learner, self.saved = ctx, params, task, learner, saved
        self.began = began
        self.measure = task.measure.lower()  # as metrics name it, ours and OpenFL's
        self.lists: dict[str, list[Any]] = {"fx": [], "certificates": [], "faults": []}
        self.lines: list[dict[int, Line]] = [{} for _ in range(params.collaborators)]  # by OpenFL's round
        self.rounds: dict[int, Line] = {}  # the aggregator's lines
        self.order: list[int] = []  # the aggregator's rounds in their order of arrival
        self.held_out: list[Sums] = []  # for each of our rounds
        self.own_scores: list[float | None] = []  # for each of our rounds: the mean over institutions
        self.ended_at: list[float] = []  # for each of our rounds, on the monotonic clock
        self.loss: float | None = None  # the training loss of the last round
        self.digest = b""  # the last model's weights

    @property
    def number(self) -> int:
        """The number of rounds that have ended."""
        return len(self.held_out)

    def tell(self, name: str, values: Sequence[Any]) -> None:
        """Publish one of the lists if it has changed."""
        if self.lists[name] != values:
            self.lists[name] = list(values)
            self.ctx.publish(**{name: list(values)})

    def fault(self, sentence: str) -> None:
        """Publish a sentence or more on what has happened."""
        self.tell("faults", [*self.lists["faults"], sentence])

    def read(self, lines: Sequence[Line], collaborators: Sequence[Sequence[Line]]) -> None:
        """Take the aggregator's and the collaborators' new lines, and emit the results of rounds that have ended."""
        for number, more in enumerate(collaborators):
            self.lines[number] |= {line[ROUND]: line for line in more}
        for line in lines:
            self.rounds[line[ROUND]] = line
            self.order.append(line[ROUND])
        while self.number < self.params.rounds and self.number in self.rounds:
            file = self.saved / f"round-{self.number + 1}.npz"
            if not file.exists():
                break
            self._end_round(self.number + 1, file)
        self._tell_own(complete=True)

    def close(self) -> None:
        """Emit the own accuracies of the last rounds, even if an institution's is missing."""
        self._tell_own(complete=False)

    def _end_round(self, number: int, file: Path) -> None:
        """Test the model of round `number`, counted from 1, and emit the round's results."""
        emit, line = self.ctx.emit, self.rounds[number - 1]
        self.ended_at.append(file.stat().st_mtime - time.time() + time.monotonic())
        with np.load(file, allow_pickle=False) as arrays:
            values = [arrays[name] for name in workspace.names(self.params, self.task.model)]
        vector = np.concatenate([value.ravel() for value in values]).astype(np.float32)
        self.digest = vector.tobytes()
        with self.ctx.phase("evaluate"):
            self.learner.load(vector)
            sums = self.learner.test(*self.task.held_out)
        self.held_out.append(sums)
        emit(f"{HELD_OUT} {self.task.measure}", sums.mean_score, number)
        emit("held-out loss", sums.mean_loss, number)
        self.loss = _metric(line, f"aggregator/{TRAIN}/loss")
        for name, value in (
            ("loss", self.loss),
            (self.task.measure, _metric(line, f"aggregator/{TRAIN}/{self.measure}")),
            ("total images/s", self.images / float(line["elapsed_seconds"]) if number > 1 else None),
        ):
            if value is not None:
                emit(name, value, number)
        self.ctx.end_step(number)
        self.ctx.progress(number, self.params.rounds)

    def _tell_own(self, complete: bool) -> None:
        """Emit the accuracies of rounds' models at the institutions, which report them in the round after."""
        while len(self.own_scores) < self.number:
            number = len(self.own_scores) + 1
            if complete and number + 1 not in self.rounds and any(number not in lines for lines in self.lines):
                return  # it may still come
            scores = []
            for place in range(self.params.collaborators):
                tuned, shared = self.score(place, number - 1, TUNED), self.score(place, number)
                if tuned is not None:
                    self.ctx.emit(institution_event(place, f"{OWN_DATA} {self.task.measure}"), tuned, number)
                if shared is not None:
                    scores.append(shared)
                    self.ctx.emit(institution_event(place, f"global {self.task.measure}"), shared, number)
            self.own_scores.append(float(np.mean(scores)) if scores else None)
            if scores:
                self.ctx.emit(f"{OWN_DATA} {self.task.measure}", float(np.mean(scores)), number)

    def score(self, number: int, openfl_round: int, task: str = SHARED) -> float | None:
        """Return an institution's accuracy in a round of OpenFL. The shared model's round has our number."""
        line = self.lines[number].get(openfl_round, {})
        return _metric(line, f"{workspace.collaborator(number)}/{task}/{self.measure}")

    @property
    def images(self) -> int:
        """The number of images that all institutions together read in a round."""
        return self.params.epochs * sum(int(described["images"]) for described in self.task.about)

    def missing(self) -> list[int]:
        """Return the institutions that have reported nothing in the current round."""
        return [number for number, lines in enumerate(self.lines) if max(self.rounds, default=-1) + 1 not in lines]

    def conditions(self) -> dict[str, Any]:
        """Return the metrics that are known before the first round."""
        task, parameters = self.task, self.learner.parameters
        return {
            **task.facts,
            "openfl": OPENFL,
            "measure": task.measure,
            "ways": [WAY],
            "algorithm": "fedavg",
            "parameters": parameters,
            "bytes_model": 4 * parameters,
            "held_out_images": len(task.held_out[1]),
            "train_images": sum(described["images"] for described in task.about),
            "institutions": [{"rank": 0, **described} for described in task.about],
        }

    def metrics(self, took_part: Sequence[int], stopped: bool) -> dict[str, Any]:
        """Return all metrics at the end. `took_part` has each institution's number of rounds. Seconds are None where no
        round has ended. `seconds_start` is the time before the first round, with keys and imports; `seconds_stop` is
        the time after the last round."""
        conditions, measure = self.conditions(), self.measure
        for number, described in enumerate(conditions["institutions"]):
            described["took_part"] = took_part[number]
            described["own_score"] = {WAY: self.score(number, self.number)}
        held_out = [sums.mean_score for sums in self.held_out]
        last_score, own_score = held_out[-1] if held_out else None, self.own_scores[-1] if self.own_scores else None
        seconds = self._seconds_per_round()
        metrics = {
            **conditions,
            "by_way": {
                WAY: {
                    "held_out_score": last_score,
                    "own_score": own_score,
                    "images_read": sum(
                        self.params.epochs * described["images"] * described["took_part"]
                        for described in conditions["institutions"]
                    ),
                    "held_out": held_out,
                    "own": self.own_scores,
                }
            },
            "held_out_loss": self.held_out[-1].mean_loss if held_out else None,
            f"held_out_{measure}": last_score,
            f"own_{measure}": own_score,
            "loss": self.loss,
            "drift": None,  # OpenFL doesn't show single updates
            "dropped": [],
            "participants": sum(took_part) / self.number if held_out else 0.0,
            "rounds": self.number,
            "stopped": stopped,
            "seconds_per_round": seconds,
            "images_per_second": self.images / seconds if seconds else None,
            "seconds_start": max(self.ended_at[0] - self.began - seconds, 0.0) if seconds else None,
            "seconds_stop": max(time.monotonic() - self.ended_at[-1], 0.0) if seconds else None,
            **self.lists,
        }
        if self.digest:
            metrics["model_digest"] = hashlib.sha256(self.digest).hexdigest()
        if self.task.look is not None and held_out:
            metrics |= self.task.look.keep(
                self.number, lambda images, labels: {WAY: self.learner.outputs(images, labels)}, True
            )
        if self.task.notices:
            metrics["notices"] = list(self.task.notices)
        return metrics

    def _seconds_per_round(self) -> float | None:
        """Return the mean over all rounds except the first, which compiles; for a single round, its own seconds."""
        if self.number > 1:
            return float(np.mean(np.diff(self.ended_at)))
        return float(self.rounds[0]["elapsed_seconds"]) if self.number else None


def _metric(line: Line, name: str) -> float | None:
    value = line.get(name)
    return float(value) if isinstance(value, int | float) else None
