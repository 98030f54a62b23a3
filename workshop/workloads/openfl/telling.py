"""What the aggregator's rank tells of an OpenFL federation: the events and metrics of the workload `federated`, so that
the same panels show both.

OpenFL counts rounds from 0, and in each of them first tests the model that the round before has come to. So of our
round k the training is in OpenFL's line k - 1, and how well its model does at the institutions in line k.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from workshop.engine.context import RankContext
from workshop.workloads.federated.local import Learner, Sums
from workshop.workloads.federated.task import Task
from workshop.workloads.federated.telling import HELD_OUT, OWN, institution
from workshop.workloads.openfl import OpenFLParams, log_reader, workspace
from workshop.workloads.openfl.log_reader import ROUND
from workshop.workloads.openfl.post import Post

SHARED, TUNED, TRAIN = "aggregated_model_validation", "locally_tuned_model_validation", "train"  # tasks of the plan


class Telling:
    """Collects what arrives by post and what the aggregator writes, and tells it round by round."""

    def __init__(
        self, ctx: RankContext, params: OpenFLParams, task: Task, learner: Learner, saved: Path, began: float
    ) -> None:
        """`saved` is the folder in which the aggregator keeps the model of every round; `began` is when the run did, on
        the monotonic clock."""
        self.ctx, self.params, self.task, self.learner, self.saved = ctx, params, task, learner, saved
        self.began = began
        self.lists: dict[str, Any] = {"fx": {}, "certificates": {}, "faults": []}
        self.lines: list[dict[int, Mapping[str, Any]]] = [{} for _ in range(params.collaborators)]  # by OpenFL's round
        self.rounds: dict[int, Mapping[str, Any]] = {}  # the aggregator's lines
        self.order: list[int] = []  # of these, as they came
        self.held_out: list[Sums] = []  # of our rounds, from the first
        self.own: list[float | None] = []
        self.ended_at: list[float] = []  # of our rounds, on our clock
        self.loss: float | None = None  # of training, in the last round
        self.digest = b""  # the last model's weights
        self.gone: dict[int, Mapping[str, Any]] = {}  # collaborators whose process has ended

    @property
    def number(self) -> int:
        """How many rounds have ended."""
        return len(self.held_out)

    def hear(self, post: Post) -> None:
        """Take what has arrived."""
        changed: set[str] = set()
        while (letter := post.take("fx")) is not None:
            said = json.loads(letter)
            self.lists["fx"][said.pop("rank"), said.pop("number")] = said
            changed.add("fx")
        while (letter := post.take("certificate")) is not None:
            said = json.loads(letter)
            self.lists["certificates"][said["name"], said["subject"]] = said
            changed.add("certificates")
        while (letter := post.take("fault")) is not None:
            self.fault(json.loads(letter)["words"])
        while (letter := post.take("round")) is not None:
            said = json.loads(letter)
            self.lines[said["one"]][said["line"][ROUND]] = said["line"]
            aggregator = self.lists["certificates"].get(("aggregator", f"CN={workspace.AGGREGATOR}"))
            if aggregator and aggregator["accepted"] is None:
                aggregator["accepted"] = True  # by who got work over the connection
                changed.add("certificates")
        while (letter := post.take("ended")) is not None:
            said = json.loads(letter)
            self.gone[said["one"]] = said
        if changed:
            self.ctx.known(**{name: self.listed(name) for name in changed})

    def fault(self, words: str) -> None:
        """Tell what has happened, a sentence or more."""
        self.lists["faults"].append(words)
        self.ctx.known(faults=self.listed("faults"))

    def listed(self, name: str) -> list[Any]:
        found = self.lists[name]
        return list(found.values()) if isinstance(found, dict) else list(found)

    def read(self, lines: Sequence[Mapping[str, Any]]) -> None:
        """Take the aggregator's lines, and tell of the rounds that have ended."""
        for line in lines:
            self.rounds[line[ROUND]] = line
            self.order.append(line[ROUND])
        while self.number < self.params.rounds and self.number in self.rounds:
            file = self.saved / f"round-{self.number + 1}.npz"
            if not file.exists():
                break
            self._ended(self.number + 1, file)
        self._tell_own(all_there=True)

    def close(self) -> None:
        """Tell of own accuracies what there is, where somebody is missing."""
        self._tell_own(all_there=False)

    def _ended(self, number: int, file: Path) -> None:
        """Round `number` has ended, counted from 1: test its model, and tell."""
        emit, line = self.ctx.emit, self.rounds[number - 1]
        self.ended_at.append(file.stat().st_mtime - time.time() + time.monotonic())
        with np.load(file, allow_pickle=False) as arrays:
            values = [arrays[name] for name in workspace.names(self.params.model)]
        vector = np.concatenate([value.ravel() for value in values]).astype(np.float32)
        self.digest = vector.tobytes()
        with self.ctx.phase("evaluate"):
            self.learner.load(vector)
            sums = self.learner.test(*self.task.held_out)
        self.held_out.append(sums)
        emit(f"{HELD_OUT} {self.task.measure}", sums.mean_score, number)
        emit("held-out loss", sums.mean_loss, number)
        for ours, theirs in (("loss", "loss"), (self.task.measure, "accuracy")):
            value = log_reader.accuracy(dict(line), "aggregator", f"{TRAIN}/{theirs}")
            if value is not None:
                emit(ours, value, number)
                self.loss = value if ours == "loss" else self.loss
        if number > 1:
            took = float(line["elapsed_seconds"])
            emit("total images/s", self.images / took, number)
        self.ctx.end_step(number)
        self.ctx.progress(number, self.params.rounds)

    def _tell_own(self, all_there: bool) -> None:
        """How well the model of a round does at the institutions, which they say in the round after it."""
        while len(self.own) < self.number:
            number = len(self.own) + 1
            missing = [one for one, lines in enumerate(self.lines) if number not in lines]
            if missing and all_there and number + 1 not in self.rounds:
                return  # it may still come
            scores = []
            for one in range(self.params.collaborators):
                before = self.score(one, number - 1, TUNED)
                if before is not None:
                    self.ctx.emit(institution(one, OWN, self.task.measure), before, number)
                score = self.score(one, number, SHARED)
                if score is not None:
                    scores.append(score)
                    self.ctx.emit(institution(one, "global", self.task.measure), score, number)
            self.own.append(float(np.mean(scores)) if scores else None)
            if self.own[-1] is not None:
                self.ctx.emit(f"{OWN} {self.task.measure}", self.own[-1], number)

    def score(self, one: int, theirs: int, task: str = SHARED) -> float | None:
        """An institution's accuracy in OpenFL's round `theirs`; the shared model's is that of our round."""
        line = self.lines[one].get(theirs, {})
        return log_reader.accuracy(dict(line), workspace.collaborator(one), f"{task}/accuracy")

    @property
    def images(self) -> int:
        """That are read in a round by all together."""
        return self.params.epochs * sum(one["images"] for one in self.task.about)

    def missing(self) -> list[int]:
        """The institutions of which nothing was heard in the round that goes on."""
        return [one for one, lines in enumerate(self.lines) if max(self.rounds, default=-1) + 1 not in lines]
