"""What an OpenFL federation tells, and what it came to: the events and metrics of the workload `federated`, so that the
same panels show both, and what was seen of its faults.

OpenFL counts rounds from 0, and in each of them first tests the model that the round before has come to. So of our
round k the training is in OpenFL's line k - 1, and how well its model does at the institutions in line k.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from workshop.engine.context import RankContext
from workshop.workloads.federated.training.learner import LocalLearner, Sums
from workshop.workloads.federated.training.results import HELD_OUT, OWN, institution
from workshop.workloads.federated.training.task import LearningTask
from workshop.workloads.openfl import OpenFLParams, log_reader, workspace
from workshop.workloads.openfl.environment import OPENFL
from workshop.workloads.openfl.log_reader import ROUND
from workshop.workloads.openfl.mailbox import Mailbox
from workshop.workloads.openfl.parties import Aggregator, home

SHARED, TUNED, TRAIN = "aggregated_model_validation", "locally_tuned_model_validation", "train"  # tasks of the plan


class OpenFLResults:
    """Collects what arrives by post and what the aggregator writes, and tells it round by round."""

    def __init__(
        self,
        ctx: RankContext,
        params: OpenFLParams,
        task: LearningTask,
        learner: LocalLearner,
        saved: Path,
        began: float,
    ) -> None:
        """`saved` is the folder with the model of every round; `began` is when the run did, on the monotonic clock."""
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

    def hear(self, post: Mailbox) -> None:
        """Take what has arrived."""
        changed: set[str] = set()
        for said in _letters(post, "fx"):
            self.lists["fx"][said.pop("rank"), said.pop("number")] = said
            changed.add("fx")
        for said in _letters(post, "certificate"):
            self.lists["certificates"][said["name"], said["subject"]] = said
            changed.add("certificates")
        for said in _letters(post, "fault"):
            self.fault(said["words"])
        for said in _letters(post, "round"):
            self.lines[said["one"]][said["line"][ROUND]] = said["line"]
            aggregator = self.lists["certificates"].get(("aggregator", f"CN={workspace.AGGREGATOR}"))
            if aggregator and aggregator["accepted"] is None:
                aggregator["accepted"] = True  # by who got work over the connection
                changed.add("certificates")
        for said in _letters(post, "ended"):
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
                    self.ctx.emit(institution(one, f"{OWN} {self.task.measure}"), before, number)
                score = self.score(one, number, SHARED)
                if score is not None:
                    scores.append(score)
                    self.ctx.emit(institution(one, f"global {self.task.measure}"), score, number)
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


WAY = "federated"


def _letters(post: Mailbox, subject: str) -> Iterator[dict[str, Any]]:
    """What has arrived about something."""
    while (letter := post.take(subject)) is not None:
        yield json.loads(letter)


def conditions(telling: OpenFLResults, ranks: int, parameters: int) -> dict[str, Any]:
    """What is known before the first round."""
    task, about = telling.task, telling.task.about
    return {
        **task.known,
        "openfl": OPENFL,
        "measure": task.measure,
        "ways": [WAY],
        "algorithm": "fedavg",
        "parameters": parameters,
        "bytes_model": 4 * parameters,
        "held_out_images": len(task.held_out[1]),
        "train_images": sum(one["images"] for one in about),
        "institutions": [{"rank": home(one, ranks), **dict(known)} for one, known in enumerate(about)],
    }


def metrics(telling: OpenFLResults, aggregator: Aggregator, stopped: bool) -> dict[str, Any]:
    """At the end. Seconds are None where no round has ended; `seconds_start` is all before the first round, keys and
    imports included, `seconds_stop` all after the last one."""
    ranks, params = telling.ctx.size, telling.params
    known = conditions(telling, ranks, telling.learner.parameters)
    each = _seconds_per_round(telling)
    held_out = [sums.mean_score for sums in telling.held_out]
    last = telling.held_out[-1] if telling.held_out else None
    own = telling.own[-1] if telling.own else None
    for one, described in enumerate(known["institutions"]):
        described["took_part"] = aggregator.took_part(one)
        described["own_score"] = {WAY: telling.score(one, telling.number)}
    took_part = sum(one["took_part"] for one in known["institutions"])
    found = {
        **known,
        "by_way": {
            WAY: {
                "held_out_score": held_out[-1] if held_out else None,
                "own_score": own,
                "images_read": sum(params.epochs * one["images"] * one["took_part"] for one in known["institutions"]),
                "held_out": held_out,
                "own": telling.own,
            }
        },
        "held_out_loss": last.mean_loss if last else None,
        f"held_out_{telling.task.measure}": held_out[-1] if held_out else None,
        f"own_{telling.task.measure}": own,
        "loss": telling.loss,
        "drift": None,  # OpenFL shows nobody single updates
        "dropped": [],
        "participants": took_part / telling.number if telling.number else 0.0,
        "rounds": telling.number,
        "stopped": stopped,
        "seconds_per_round": each,
        "images_per_second": telling.images / each if each else None,
        **{name: telling.listed(name) for name in ("fx", "certificates", "faults")},
        **_around(telling, each),
    }
    if telling.digest:
        found["model_digest"] = hashlib.sha256(telling.digest).hexdigest()
    if telling.task.notices:
        found["notices"] = list(telling.task.notices)
    return found


def _seconds_per_round(telling: OpenFLResults) -> float | None:
    """The mean over all rounds but the first, which compiles; of the only one where there are no more."""
    took = [float(np.diff(pair)[0]) for pair in zip(telling.ended_at, telling.ended_at[1:], strict=False)]
    if took:
        return float(np.mean(took))
    return float(telling.rounds[0]["elapsed_seconds"]) if telling.number else None


def _around(telling: OpenFLResults, each: float | None) -> dict[str, float | None]:
    if each is None:
        return {"seconds_start": None, "seconds_stop": None}
    return {
        "seconds_start": max(telling.ended_at[0] - telling.began - each, 0.0),
        "seconds_stop": max(time.monotonic() - telling.ended_at[-1], 0.0),
    }


def observe(telling: OpenFLResults, aggregator: Aggregator) -> None:
    """Tell in sentences what came of a process that was killed on purpose."""
    params = telling.params
    if params.fault == "dies":
        one = params.collaborators - 1
        gone = telling.gone.get(one, {})
        waited = [telling.rounds[number]["elapsed_seconds"] for number in range(1, telling.number)]
        telling.fault(
            f"Institution {one + 1} was killed in round {int(gone.get('round') or 0) + 1}, after it had taken part in "
            f"{aggregator.took_part(one)} of {telling.number} rounds. With a straggler policy in the plan the others "
            f"went on without it; each round from then on took {np.mean(waited):.1f} s, since OpenFL never learns that "
            f"it is dead and waits {params.patience:g} s for it again in every round."
        )
        if aggregator.left:
            telling.fault(
                "When all rounds were over, OpenFL's aggregator went on waiting for it, to tell it that it may go: it "
                "was ended by us."
            )
    if params.fault == "restart" and aggregator.restarted is not None:
        following = telling.order[aggregator.restarted :]
        went_on = f"went on with round {following[0] + 1}" if following else "went on with no round"
        again = [one for one, said in telling.gone.items() if said["code"] != 0]
        others = "no collaborator had to be" if not again else f"{len(again)} collaborators had ended"
        telling.fault(
            f"The aggregator was killed after round {aggregator.restarted} and started again: it read what it had kept "
            f"and {went_on}, since its plan has persist_checkpoint: true; {others} started again."
        )
