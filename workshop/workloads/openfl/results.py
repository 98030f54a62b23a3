"""The results of an OpenFL federation: the events and metrics of the workload `federated`, so that the same panels show
both, and the lists `fx` and `certificates`.

OpenFL counts rounds from 0, and each round first tests the model of the round before. So the training of our round k is
in OpenFL's line k - 1, and its model's accuracies on the institutions' images are in line k.
"""

from __future__ import annotations

import time
from collections import defaultdict
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
        self, ctx: RankContext, params: OpenFLParams, task: LearningTask, learner: LocalLearner, saved: Path
    ) -> None:
        """`saved` is the folder with the model of every round."""
        self.ctx, self.params, self.task, self.learner, self.saved = ctx, params, task, learner, saved
        self.measure = task.measure.lower()  # as metrics name it, ours and OpenFL's
        self.lists: dict[str, list[Any]] = {"fx": [], "certificates": []}
        self.scores: dict[int, dict[int, float]] = defaultdict(dict)  # of shared models, by round and institution
        self.rounds: dict[int, Line] = {}  # the aggregator's lines
        self.held_out: list[Sums] = []  # for each of our rounds
        self.ended_at: list[float] = []  # for each of our rounds, on the monotonic clock
        self.loss: float | None = None  # the training loss of the last round
        self.images = params.epochs * sum(described["images"] for described in task.about)  # that a round reads

    @property
    def number(self) -> int:
        """The number of rounds that have ended."""
        return len(self.held_out)

    def tell(self, name: str, values: Sequence[Any]) -> None:
        """Publish one of the lists if it has changed."""
        if self.lists[name] != values:
            self.lists[name] = list(values)
            self.ctx.publish(**{name: list(values)})

    def read(self, lines: Sequence[Line], collaborators: Sequence[Sequence[Line]]) -> None:
        """Take the aggregator's and the collaborators' new lines, and emit the results of rounds that have ended."""
        for place, more in enumerate(collaborators):
            for line in more:
                self._read_institution(place, line)
        self.rounds |= {line[ROUND]: line for line in lines}
        while self.number < self.params.rounds and self.number in self.rounds:
            file = self.saved / f"round-{self.number + 1}.npz"
            if not file.exists():
                break
            self._end_round(self.number + 1, file)

    def _read_institution(self, place: int, line: Line) -> None:
        """Emit the accuracies at an institution: of the shared model, and of its own before it was averaged."""
        name, number, measure = workspace.collaborator(place), line[ROUND], self.task.measure
        shared, tuned = (line.get(f"{name}/{task}/{self.measure}") for task in (SHARED, TUNED))
        if shared is not None and number > 0:
            self.scores[number][place] = shared
            self.ctx.emit(institution_event(place, f"global {measure}"), shared, number)
            if len(self.scores[number]) == self.params.collaborators:
                self._tell_own(number)
        if tuned is not None:
            self.ctx.emit(institution_event(place, f"{OWN_DATA} {measure}"), tuned, number + 1)

    def _end_round(self, number: int, file: Path) -> None:
        """Test the model of round `number`, counted from 1, and emit the round's results."""
        line, measure = self.rounds[number - 1], self.task.measure
        self.ended_at.append(file.stat().st_mtime - time.time() + time.monotonic())
        with np.load(file, allow_pickle=False) as arrays:
            values = [arrays[name] for name in workspace.names(self.params, self.task.model)]
        with self.ctx.phase("evaluate"):
            self.learner.load(np.concatenate([value.ravel() for value in values]).astype(np.float32))
            sums = self.learner.test(*self.task.held_out)
        self.held_out.append(sums)
        self.loss = line.get(f"aggregator/{TRAIN}/loss")
        for name, value in (
            (f"{HELD_OUT} {measure}", sums.mean_score),
            ("held-out loss", sums.mean_loss),
            ("loss", self.loss),
            (measure, line.get(f"aggregator/{TRAIN}/{self.measure}")),
            ("total images/s", self.images / line["elapsed_seconds"] if number > 1 else None),
        ):
            if value is not None:
                self.ctx.emit(name, float(value), number)
        self.ctx.publish(**{"rounds": number, f"held_out_{self.measure}": sums.mean_score})
        self.ctx.end_step(number)
        self.ctx.progress(number, self.params.rounds)

    def _tell_own(self, number: int) -> None:
        """Emit the mean accuracy of a round's model over the institutions that have tested it."""
        self.ctx.emit(f"{OWN_DATA} {self.task.measure}", float(np.mean([*self.scores[number].values()])), number)

    def conditions(self) -> dict[str, Any]:
        """Return the metrics that are known before the first round."""
        parameters = self.learner.parameters
        return {
            **self.task.facts,
            "openfl": OPENFL,
            "measure": self.task.measure,
            "ways": [WAY],
            "parameters": parameters,
            "bytes_model": 4 * parameters,
            "held_out_images": len(self.task.held_out[1]),
            "train_images": sum(described["images"] for described in self.task.about),
            "institutions": [{"rank": 0, **described} for described in self.task.about],
        }

    def metrics(self, took_part: Sequence[int]) -> dict[str, Any]:
        """Return all metrics at the end. `took_part` has each institution's number of rounds."""
        conditions, epochs = self.conditions(), self.params.epochs
        institutions = conditions["institutions"]
        for number, described in enumerate(institutions):
            described["took_part"] = took_part[number]
            described["own_score"] = {WAY: self.scores[self.number].get(number)}
        own_scores: list[float | None] = []
        for scores in (self.scores[number + 1] for number in range(self.number)):
            own_scores.append(float(np.mean([*scores.values()])) if scores else None)
            if 0 < len(scores) < self.params.collaborators:
                self._tell_own(len(own_scores))
        held_out = [sums.mean_score for sums in self.held_out]
        way = {
            "held_out_score": held_out[-1],
            "own_score": own_scores[-1],
            "images_read": sum(epochs * described["images"] * described["took_part"] for described in institutions),
            "held_out": held_out,
            "own": own_scores,
        }
        # The first round compiles; a single one counts all the same.
        seconds = float(np.mean(np.diff(self.ended_at) if self.number > 1 else [self.rounds[0]["elapsed_seconds"]]))
        metrics = {
            **conditions,
            "by_way": {WAY: way},
            "held_out_loss": self.held_out[-1].mean_loss,
            f"held_out_{self.measure}": way["held_out_score"],
            f"own_{self.measure}": way["own_score"],
            "loss": self.loss,
            "rounds": self.number,
            "seconds_per_round": seconds,
            "images_per_second": self.images / seconds,
            **self.lists,
        }
        if self.task.look is not None:
            metrics |= self.task.look.keep(
                self.number, lambda images, labels: {WAY: self.learner.outputs(images, labels)}, True
            )
        return metrics
