"""The workload: rank 0 starts OpenFL's commands as processes and reads their logs; other ranks only lend cores."""

from __future__ import annotations

import os
import shutil
import socket
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from workshop.core.errors import WorkshopError
from workshop.core.ports import free_port
from workshop.engine.context import RankContext
from workshop.engine.tensorflow import seed_training
from workshop.workloads.federated.training.learner import LocalLearner
from workshop.workloads.federated.training.task import digits
from workshop.workloads.openfl import OpenFLParams, environment, workspace
from workshop.workloads.openfl.fx import EVERY, Fx, log_tail
from workshop.workloads.openfl.parties import Party, certify
from workshop.workloads.openfl.results import OpenFLResults
from workshop.workloads.segmentation import SegmentationParams
from workshop.workloads.segmentation.task import segmentation

LEAVES = 8.0  # seconds that an aggregator without collaborators has to end; it looks for them every 5
TRIES = 3  # refusals after which a guest is ended
# Words in the log of the aggregator's gRPC when it refuses a certificate, and their meaning.
REFUSALS = {
    "RSA routines": "TLS: the authority of that name has another key than the one that signed it",
    "CERTIFICATE_VERIFY_FAILED": "TLS: nobody here knows the authority that signed it",
}


def run(ctx: RankContext, params: OpenFLParams) -> Mapping[str, Any]:
    """Run an OpenFL federation from its keys to the last model, and return its metrics. Collective at the beginning.
    Events and metrics are those of the workload `federated`, as far as OpenFL reports them, and the metrics `fx` and
    `certificates`."""
    python = environment.require()
    ranks = ctx.comm.allgather((socket.gethostname(), os.sched_getaffinity(0)))
    if ctx.rank != 0:
        return {}
    cores = set[int]().union(*(cores for host, cores in ranks if host == ranks[0][0]))
    # Only its owner can read this folder, and it is removed after the run: keys and certificates are nowhere else.
    with tempfile.TemporaryDirectory(prefix="workshop-openfl-", ignore_cleanup_errors=True) as folder:
        fx = Fx(python, Path(folder), cores)
        try:
            return OpenFLFederation(ctx, params, fx, Path(folder)).run()
        finally:
            fx.close()


class OpenFLFederation:
    """The parties, what they do, and what goes wrong on purpose."""

    def __init__(self, ctx: RankContext, params: OpenFLParams, fx: Fx, folder: Path) -> None:
        """Make the parties and their images."""
        self.ctx, self.params, self.fx = ctx, params, fx
        ctx.activity("loading TensorFlow and the images")
        seed_training(params.seed)
        numbers = range(params.collaborators)
        same = params.as_federated()
        self.network = ""
        if isinstance(same, SegmentationParams):
            task = segmentation(ctx, same, numbers)
            self.network = task.model.to_json()
        else:
            task = digits(ctx, same, numbers)
        self.aggregator = Party(fx, folder / "aggregator", "aggregator", "the aggregator")
        self.collaborators = []
        for number in numbers:
            name = workspace.collaborator(number)
            self.collaborators.append(Party(fx, folder / name, name, f"institution {number + 1}"))
            workspace.write_images(folder / name, task.silos[number], number)
        self.last = self.collaborators[-1]
        self.guests = []
        if params.fault == "foreign-certificate":
            self.guests = [Party(fx, folder / "guest", "stranger", "a stranger")]
            workspace.write_images(folder / "guest", task.silos[0], 0)  # without images it can't ask
        self.parties = [self.aggregator, *self.collaborators, *self.guests]
        self.initial = workspace.weights(params, task.model)
        learner = LocalLearner(task.model, task.loss, task.score, params.rate, at_once=task.at_once)
        self.results = OpenFLResults(ctx, params, task, learner, self.aggregator.here / "save")
        fx.turn = self._turn
        ctx.publish(**self.results.conditions())

    def run(self) -> dict[str, Any]:
        """Run the federation until all have ended. Raises WorkshopError for failures that weren't on purpose."""
        try:
            self._certify()
            self._listen()
            self.ctx.activity("starting the collaborators")
            for party in self.parties[1:]:
                party.take_part(f"fx collaborator start -n {party.name}")
            self._watch()
            return self.results.metrics([self._took_part(party) for party in self.collaborators])
        except InterruptedError:
            return {**self.results.conditions(), **self.results.lists, "rounds": self.results.number, "stopped": True}
        finally:
            for party in self.parties:
                name = party.where.removeprefix("the ").replace(" ", "-")
                self.ctx.artifact(f"{name}.log", log_tail(party.output), "text/plain")

    def _turn(self) -> None:
        """Publish the commands. Raises InterruptedError after a request to stop."""
        self.results.tell("fx", [command.as_json() for command in self.fx.commands])
        if self.ctx.stop_heard():
            raise InterruptedError

    def _certify(self) -> None:
        """Make keys and certificates."""
        self.ctx.activity("making keys and certificates")
        plan = workspace.plan(self.params, free_port())
        workspace.write_workspace(self.aggregator.here, plan, self.initial, self.network)
        certify(self.fx, self.aggregator, self.collaborators, self.guests)
        chain = self.aggregator.here / workspace.CHAIN
        authorities = self.aggregator.folder / "authorities.crt"
        shutil.copy(chain, authorities)
        for guest in self.guests:  # it has an authority of its own
            guest.run("fx workspace certify")
            guest.run(f"fx collaborator certify -n {guest.name} --silent")
            authorities.write_bytes(chain.read_bytes() + (guest.here / workspace.CHAIN).read_bytes())
            # The authority's certificate isn't secret: with it the guest can at least verify the aggregator.
            shutil.copy(chain, guest.here / workspace.CHAIN)
        files = [self.aggregator.here / workspace.SERVER]
        files += [party.here / workspace.certificate(party.name) for party in self.parties[1:]]
        for party, certificate in zip(self.parties, self.fx.certificates(authorities, files), strict=True):
            party.certificate |= certificate

    def _listen(self) -> None:
        """Start the aggregator and wait until it can be reached."""
        self.ctx.activity("starting the aggregator")
        self.aggregator.take_part("fx aggregator start")
        while not self.aggregator.listens:
            self._look()
            self._check(self.aggregator)

    def _watch(self) -> None:
        """Wait until all have ended, and cause the fault of the run."""
        idle_since = None  # when the last collaborator ended
        while any(party.process.code is None for party in self.parties):
            self._look()
            for party in self.collaborators:
                self._check(party)
            for guest in self.guests:
                if len(guest.refusals) >= TRIES and guest.certificate["accepted"] is None:
                    self._refuse(guest)
            if self.params.fault == "dies" and self.last.round:
                self.last.process.process.kill()
            if any(party.process.code is None for party in self.collaborators):
                self._check(self.aggregator)
            else:  # it may wait for a collaborator that is dead, to tell it that it may go
                idle_since = idle_since or time.monotonic()
                if time.monotonic() - idle_since > LEAVES:
                    self.aggregator.process.process.terminate()
        self._look()

    def _look(self) -> None:
        """Read what is new in logs and metrics, and mark the certificates of those that got work as accepted."""
        time.sleep(EVERY)
        self._turn()
        for party in self.parties:
            party.read()
        self.results.read(self.aggregator.rounds(), [party.rounds() for party in self.collaborators])
        for party in self.collaborators:
            if party.round is not None and party.certificate["accepted"] is None:
                party.certificate["accepted"] = self.aggregator.certificate["accepted"] = True
                self.ctx.activity("training")
        self.results.tell("certificates", [dict(party.certificate) for party in self.parties])

    def _took_part(self, party: Party) -> int:
        """Return the number of rounds whose model has an institution's work in it."""
        return sum(party.name in self.aggregator.done.get(number, []) for number in range(self.results.number))

    def _refuse(self, guest: Party) -> None:
        """End a guest that was refused often enough, and note why: it would go on asking for ever. Over TLS, the guest
        itself only learns that the connection was closed; the aggregator's log has the reason."""
        guest.process.process.terminate()
        code, words = guest.refusals[0], log_tail(self.aggregator.output).decode()
        closed = "the connection ends before a word is read"
        why = next((why for sign, why in REFUSALS.items() if sign in words), closed)
        guest.certificate |= {"accepted": False, "why": f"{why} (gRPC: {code})"}

    def _check(self, party: Party) -> None:
        """Raise WorkshopError where a party has failed, unless on purpose."""
        code = party.process.code
        if code and not (self.params.fault == "dies" and party is self.last):
            when = f"in round {party.round + 1}" if party.round is not None else "before the end"
            raise WorkshopError(
                f"OpenFL's process of {party.where} ended {when} (exit code {code}); it says: "
                f"{party.process.last_words()}"
            )
