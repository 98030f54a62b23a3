"""The workload: what a rank does while OpenFL learns in processes of its own.

Rank 0 has the authority, the aggregator, and the ear for what all tell; institutions live on the other ranks, or on all
where there are few. What goes from one to the other travels by `post`, as it would between institutions. On one machine
all of them are one user's processes: the keys of one institution are kept apart from the others by what is done, not by
the machine.
"""

from __future__ import annotations

import json
import socket
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from workshop.core.errors import WorkshopError
from workshop.engine.context import RankContext
from workshop.engine.tensorflow import tensorflow
from workshop.workloads.federated.training.digits import digits
from workshop.workloads.federated.training.learner import LocalLearner
from workshop.workloads.openfl import OpenFLParams, environment, results, workspace
from workshop.workloads.openfl.fx import Fx, Steps, shown
from workshop.workloads.openfl.mailbox import Mailbox
from workshop.workloads.openfl.parties import AUTHORITY, LEAVES, Aggregator, Collaborator, Party, Visitor, home
from workshop.workloads.openfl.results import OpenFLResults

EVERY = 0.15  # seconds between two turns of all ranks
STOPPED = 2.5  # seconds in which processes end when they are asked to; the session gives a run 5 in all
VISITS = ("foreign-certificate", "other-name", "expired-certificate")


def run(ctx: RankContext, params: OpenFLParams) -> Mapping[str, Any]:
    """A federation of OpenFL from its keys to the last model. Collective. Events and metrics are those of the workload
    `federated`, as far as OpenFL tells them, and the metrics `fx`, `certificates` and `faults`."""
    began, python = time.monotonic(), environment.require()
    # Only its owner can look into it, and it goes with the run: keys and certificates are kept nowhere else.
    with tempfile.TemporaryDirectory(prefix="workshop-openfl-", ignore_cleanup_errors=True) as folder:
        fx = Fx(python, Path(folder))
        try:
            return OpenFLFederation(ctx, params, fx, Path(folder), began).run()
        finally:
            fx.close()


class OpenFLFederation:
    """One rank's part. All collective."""

    def __init__(self, ctx: RankContext, params: OpenFLParams, fx: Fx, folder: Path, began: float) -> None:
        """While this is done, OpenFL's environment imports what it needs."""
        self.ctx, self.params, self.fx = ctx, params, fx
        self.post = Mailbox(ctx.comm)
        self.stopped = False
        self._told: dict[int, int | None] = {}  # commands by number, with the exit code that was told of them
        tf = tensorflow()
        tf.keras.utils.clear_session()  # what an earlier run of this process has left
        tf.keras.utils.set_random_seed(params.seed)
        mine = [one for one in range(params.collaborators) if home(one, ctx.size) == ctx.rank]
        task = digits(ctx, params.as_federated(), mine)
        self.collaborators = [
            Collaborator(params, fx, folder / workspace.collaborator(one), self.post, one, _arrays(task.silos[one]))
            for one in mine
        ]
        self.parties: list[Party] = list(self.collaborators)
        self.telling: OpenFLResults | None = None
        self.aggregator: Aggregator | None = None
        if ctx.rank == AUTHORITY:
            weights = [weight.numpy() for weight in task.model.weights]
            initial = workspace.weights(params.model, weights)
            self.aggregator = Aggregator(params, fx, folder / "aggregator", self.post, initial)
            self.parties.insert(0, self.aggregator)
            learner = LocalLearner(task.model, task.loss, task.score, params.rate, at_once=task.at_once)
            self.telling = OpenFLResults(ctx, params, task, learner, self.aggregator.side.here / "save", began)
            ctx.known(**results.conditions(self.telling, ctx.size, learner.parameters))
        last = params.collaborators - 1
        if params.fault in VISITS and home(last, ctx.size) == ctx.rank:
            self.parties.append(Visitor(params, fx, folder / "visitor", self.post, self.collaborators[-1]))
        self._running: list[Steps] = [party.steps() for party in self.parties]
        self._alone: float | None = None  # since when the aggregator has had nobody left

    def run(self) -> dict[str, Any]:
        """Take everybody's turns until all have ended."""
        ctx = self.ctx
        hosts = {said["host"] for said in self.post.exchange({"host": socket.gethostname()})}
        if len(hosts) > 1:
            raise WorkshopError(
                f"The ranks of this session are on {len(hosts)} hosts, but OpenFL's aggregator listens on its own "
                "machine only; use a session on one machine."
            )
        try:
            self._turns()
            if ctx.rank != AUTHORITY:
                return {}
            assert self.telling is not None and self.aggregator is not None
            self.telling.hear(self.post)
            self.telling.read(self.aggregator.metrics.rounds())
            self.aggregator.rounds = self.telling.number
            self.telling.close()
            if not self.stopped:
                results.observe(self.telling, self.aggregator)
            return results.metrics(self.telling, self.aggregator, self.stopped)
        finally:
            self._keep_logs()

    def _turns(self) -> None:
        while True:
            failure = self._turn()
            said = self.post.exchange({"failure": failure, "done": not self._running})
            if failures := [one["failure"] for one in said if one["failure"]]:
                raise WorkshopError(failures[0])
            if all(one["done"] for one in said):
                return
            if self.ctx.stop_requested():
                self._stop()
                return
            time.sleep(EVERY)

    def _turn(self) -> str | None:
        """Go on with everything of this rank, as far as it goes without waiting; what went wrong, if anything."""
        try:
            self.fx.look()
            for steps in list(self._running):
                try:
                    next(steps)
                except StopIteration:
                    self._running.remove(steps)
            if self.telling is not None and self.aggregator is not None:
                self.telling.hear(self.post)
                self.telling.read(self.aggregator.metrics.rounds())
                self.aggregator.rounds = self.telling.number
                self._limits(self.telling, self.aggregator)
            self._tell_commands()
        except WorkshopError as error:
            return str(error)
        return None

    def _limits(self, telling: OpenFLResults, aggregator: Aggregator) -> None:
        """End what would go on for ever."""
        now, command = time.monotonic(), aggregator.command
        if aggregator.began is None or command is None:
            return
        since = max([aggregator.began, *telling.ended_at])
        if len(telling.gone) == self.params.collaborators:
            self._alone = self._alone or now
            if now - self._alone > LEAVES and command.running and command.asked is None:
                aggregator.left = True
                self.fx.end(command)
        elif now - since > self.params.limit and not command.running:
            there = [one for one in range(self.params.collaborators) if one not in telling.gone]
            left = " and ".join(f"institution {one + 1}" for one in there)
            raise WorkshopError(
                f"OpenFL's aggregator has ended, but {left} went on for {self.params.limit:g} s after the last round."
            )
        elif now - since > self.params.limit:
            over = telling.number == self.params.rounds
            what = "The test of the last model" if over else f"Round {telling.number + 1}"
            missing = " and ".join(f"institution {one + 1}" for one in telling.missing())
            why = f"nothing was heard of {missing}, and OpenFL waits for all" if missing else "all were heard of"
            raise WorkshopError(
                f"{what} has not ended within {self.params.limit:g} s: {why}; give rounds more time (--limit)."
            )

    def _stop(self) -> None:
        """Have everything end, as Ctrl-C does; what doesn't is killed with the server."""
        self.stopped = True
        for command in self.fx.commands:
            self.fx.end(command)
        deadline = time.monotonic() + STOPPED
        while any(command.running for command in self.fx.commands) and time.monotonic() < deadline:
            self.fx.look()
            time.sleep(0.05)
        self._tell_commands()
        self.post.exchange({})

    def _tell_commands(self) -> None:
        """Tell of `fx` commands that have begun or ended."""
        for command in self.fx.commands:
            if command.words.startswith("fx ") and self._told.get(command.number, 0) != command.code:
                self._told[command.number] = command.code
                said = {"rank": self.ctx.rank, "number": command.number, **command.told()}
                self.post.send(AUTHORITY, "fx", json.dumps(said).encode())

    def _keep_logs(self) -> None:
        for party in self.parties:
            name = party.where.removeprefix("the ").replace(" ", "-")
            for file, artifact in (("run.log", f"{name}.log"), ("commands.log", f"{name}-commands.log")):
                if data := shown(party.side.folder / file):
                    self.ctx.artifact(artifact, data, "text/plain")


def _arrays(silo: Any) -> dict[str, Any]:
    """An institution's images as OpenFL's Keras loaders call them."""
    return {
        "X_train": silo.images,
        "y_train": np.asarray(silo.labels, np.int32),
        "X_valid": silo.own_images,
        "y_valid": np.asarray(silo.own_labels, np.int32),
    }
