"""The workload: rank 0 starts OpenFL's commands and the parties as processes, and reads their logs. Other ranks only
lend their cores."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import signal
import socket
import tempfile
import time
from collections.abc import Collection, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from workshop.core.errors import WorkshopError
from workshop.core.ports import free_port
from workshop.engine.context import RankContext
from workshop.engine.tensorflow import seed_training
from workshop.workloads.federated.training.digits import digits
from workshop.workloads.federated.training.learner import LocalLearner
from workshop.workloads.openfl import OpenFLParams, environment, parties, workspace
from workshop.workloads.openfl.faults import GUESTS, reason
from workshop.workloads.openfl.fx import EVERY, Fx, log_tail
from workshop.workloads.openfl.parties import Party
from workshop.workloads.openfl.results import OpenFLResults
from workshop.workloads.segmentation import SegmentationParams
from workshop.workloads.segmentation.task import segmentation

STARTS = 120.0  # seconds until the aggregator listens
STOPPED = 2.5  # seconds that processes have to end after a stop; the session gives a run 5 in all
LEAVES = 8.0  # seconds that an aggregator without collaborators has to end; it looks for them every 5
TRIES = 3  # refusals after which a guest is ended
REFUSED = 90.0  # seconds within which a guest has to be refused


class RunStopped(Exception):
    """The run is to end early."""


def run(ctx: RankContext, params: OpenFLParams) -> Mapping[str, Any]:
    """Run an OpenFL federation from its keys to the last model, and return its metrics. Collective at the beginning.
    Events and metrics are those of the workload `federated`, as far as OpenFL reports them, and the metrics `fx`,
    `certificates` and `faults`."""
    began, python = time.monotonic(), environment.require()
    ranks = ctx.comm.allgather((socket.gethostname(), os.sched_getaffinity(0)))
    if ctx.rank != 0:
        return {}
    cores = set[int]().union(*(cores for host, cores in ranks if host == ranks[0][0]))
    # Only its owner can read this folder, and it is removed after the run: keys and certificates are nowhere else.
    with tempfile.TemporaryDirectory(prefix="workshop-openfl-", ignore_cleanup_errors=True) as folder:
        fx = Fx(python, Path(folder), cores)
        try:
            return OpenFLFederation(ctx, params, fx, Path(folder), began).run()
        finally:
            fx.close()


class OpenFLFederation:
    """The parties, what they do, and what goes wrong on purpose."""

    def __init__(self, ctx: RankContext, params: OpenFLParams, fx: Fx, folder: Path, began: float) -> None:
        """Make the parties and their images. Meanwhile, OpenFL's environment imports its libraries."""
        self.ctx, self.params, self.fx = ctx, params, fx
        ctx.activity("loading TensorFlow and OpenFL")
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
            silo = task.silos[number]
            arrays = (silo.images, silo.labels, silo.own_images, silo.own_labels)
            workspace.write_images(folder / name, arrays, number)
        self.last = self.collaborators[-1]
        self.guest: Party | None = None
        if params.fault in GUESTS:
            name, where = GUESTS[params.fault]
            self.guest = Party(fx, folder / "guest", name, where.format(self.last.where, name))
            image, label = np.zeros((1, 28, 28, 1), np.float32), np.zeros(1, np.int32)  # without images it can't ask
            workspace.write_images(folder / "guest", (image, label, image, label), 0)
        self.parties = [self.aggregator, *self.collaborators, *([self.guest] if self.guest else [])]
        names = workspace.names(params, task.model)
        self.initial = workspace.weights(names, [weight.numpy() for weight in task.model.weights])
        learner = LocalLearner(task.model, task.loss, task.score, params.rate, at_once=task.at_once)
        self.results = OpenFLResults(ctx, params, task, learner, self.aggregator.here / "save", began)
        self.restarted: int | None = None  # the number of rounds after which the aggregator was killed
        self.training = False  # whether a collaborator has got work
        self.idle_since: float | None = None  # when the last collaborator ended
        fx.turn = self._turn
        ctx.publish(**self.results.conditions())

    def run(self) -> dict[str, Any]:
        """Run the federation until all have ended. Raises WorkshopError for failures that weren't on purpose."""
        stopped = False
        try:
            try:
                self._certify()
                self._listen()
                self.ctx.activity("starting the collaborators")
                for party in self.parties[1:]:
                    party.take_part(f"fx collaborator start -n {party.name}")
                self.began = time.monotonic()
                self._watch()
            except RunStopped:
                stopped = True
                self._stop()
            self._read()
            self.results.close()
            if not stopped:
                self._observe()
            return self.results.metrics([self._took_part(party) for party in self.collaborators], stopped)
        finally:
            for party in self.parties:
                for name, data in party.logs.items():
                    if data:
                        self.ctx.artifact(name, data, "text/plain")

    def _turn(self) -> None:
        """Publish the commands. Raises RunStopped after a request to stop."""
        self.results.tell("fx", [command.as_json() for command in self.fx.commands if command.words.startswith("fx ")])
        if self.ctx.stop_heard():
            raise RunStopped

    def _stop(self) -> None:
        """End all commands, as Ctrl-C does; the server kills those that still run when it ends."""
        for command in self.fx.commands:
            self.fx.end(command)
        deadline = time.monotonic() + STOPPED
        while any(command.running for command in self.fx.commands) and time.monotonic() < deadline:
            self.fx.look()
            time.sleep(EVERY)
        with suppress(RunStopped):
            self._turn()

    # Keys and certificates.

    def _certify(self) -> None:
        self.ctx.activity("making keys and certificates")
        parties.certify(
            self.fx,
            self.aggregator,
            self.parties[1:],
            workspace.plan(self.params, free_port()),
            self.initial,
            self.network,
        )
        parties.sign(self.fx, self.aggregator, self.collaborators)
        here, files = self.aggregator.here, [self.aggregator.here / workspace.SERVER]
        chain = (here / workspace.CHAIN).read_bytes()
        if self.guest:
            chain += self._certify_guest(self.guest)
        files += [party.here / workspace.certificate(party.name) for party in self.parties[1:]]
        authorities = self.aggregator.folder / "authorities.crt"
        authorities.write_bytes(chain)
        out = self.aggregator.folder / "described.json"
        self.aggregator.run(shlex.join(["certificates.py", "describe", *map(str, (out, authorities, *files))]))
        for party, certificate in zip(self.parties, json.loads(out.read_text()), strict=True):
            party.certificate |= certificate
        self._tell_certificates()

    def _certify_guest(self, guest: Party) -> bytes:
        """Give the guest its wrong certificate; return the certificates of its own authority, if it has one."""
        authority = b""
        if self.params.fault == "other-name":
            for kind in ("key", "crt"):
                source = self.last.here / workspace.certificate(self.last.name, kind)
                shutil.copy(source, guest.here / workspace.certificate(guest.name, kind))
        elif self.params.fault == "foreign-certificate":
            guest.run("fx workspace certify")
            guest.run(f"fx collaborator certify -n {guest.name} --silent")
            authority = (guest.here / workspace.CHAIN).read_bytes()
        else:
            request, out = (guest.here / workspace.certificate(guest.name, kind) for kind in ("csr", "crt"))
            words = ["certificates.py", "expire", str(request), str(workspace.SIGNING_CA), str(out)]
            self.aggregator.run(shlex.join(words))
        # The authorities' certificates aren't secret: with them the guest can at least verify the aggregator.
        shutil.copy(self.aggregator.here / workspace.CHAIN, guest.here / workspace.CHAIN)
        return authority

    def _tell_certificates(self) -> None:
        certificates = [dict(party.certificate) for party in self.parties if "subject" in party.certificate]
        self.results.tell("certificates", certificates)

    # The rounds.

    def _listen(self) -> None:
        """Start the aggregator and wait until it can be reached."""
        self.ctx.activity("starting the aggregator")
        self.aggregator.log.listens = False
        self.aggregator.take_part("fx aggregator start")
        deadline = time.monotonic() + STARTS
        while not self.aggregator.log.listens:
            self._look()
            self._check(self.aggregator)
            if time.monotonic() > deadline:
                raise WorkshopError(f"OpenFL's aggregator did not listen within {STARTS:.0f} s.")

    def _watch(self) -> None:
        """Wait until all have ended, and cause the fault of the run."""
        ended: set[Party] = set()
        while True:
            self._look()
            self._read()
            ended |= {party for party in self.parties if not party.process.running}
            for party in ended.intersection([self.aggregator, *self.collaborators]):
                self._check(party)
            if self.guest:
                self._watch_guest(self.guest)
            if ended.issuperset(self.parties) and self.guest is None:
                return
            if self.params.fault == "dies" and self.last.log.round:
                self.fx.signal(self.last.process, signal.SIGKILL)
            if self.params.fault == "restart" and self.restarted is None and self.results.number >= 2:
                self._restart()
            self._check_limits(ended)

    def _look(self) -> None:
        """Update the state of all processes and logs."""
        time.sleep(EVERY)
        self.fx.look()
        self._turn()
        for party in self.parties:
            party.log.read()

    def _read(self) -> None:
        """Read the new metrics, and mark the certificates of collaborators that got work as accepted."""
        self.results.read(self.aggregator.metrics.rounds(), [party.metrics.rounds() for party in self.collaborators])
        if not self.training and any(party.log.round is not None for party in self.collaborators):
            self.training = True
            self.ctx.activity("training")
        for party in self.collaborators:
            if party.log.round is not None:
                party.certificate["accepted"] = self.aggregator.certificate["accepted"] = True
        self._tell_certificates()

    def _took_part(self, party: Party) -> int:
        """Return the number of rounds whose model has an institution's work in it."""
        return sum(party.name in self.aggregator.log.done.get(number, []) for number in range(self.results.number))

    def _restart(self) -> None:
        """Kill the aggregator and start it again."""
        self.restarted = self.results.number
        self.fx.signal(self.aggregator.process, signal.SIGKILL)
        while self.aggregator.process.running:
            self._look()
        self._listen()
        self.ctx.activity("training")

    def _watch_guest(self, guest: Party) -> None:
        """End a guest that was refused often enough, and publish why it was refused."""
        process, log = guest.process, guest.log
        if process.running:
            late = time.monotonic() - process.began > REFUSED
            if late or len(log.refusals) >= TRIES or log.round is not None:
                self.fx.end(process)
            return
        log.read()
        who = f"{guest.where[:1].upper()}{guest.where[1:]}"
        if log.round is not None:
            guest.certificate["accepted"] = True
            self.results.fault(f"{who} was let in.")
        elif log.refusals:
            words = b"".join(log_tail(party.folder / "run.log") for party in (self.aggregator, guest)).decode()
            why = reason(log.refusals[0], words, guest.certificate["expires"], time.time())
            guest.certificate |= {"accepted": False, "why": why}
            self.results.fault(
                f"{who} was refused {len(log.refusals)} times, the first time with {log.refusals[0]}, and would have "
                "gone on asking: it was ended by us. The others went on."
            )
        else:
            self.results.fault(f"Nobody answered {guest.where}: the federation had ended before it asked.")
        self._tell_certificates()
        self.guest = None

    # What goes wrong.

    def _check(self, party: Party) -> None:
        """Raise WorkshopError where a party has failed, unless on purpose."""
        process, number = party.process, party.log.round
        if (
            not process.code
            or process.end_requested is not None
            or (self.params.fault == "dies" and party is self.last)
        ):
            return
        who, what = "OpenFL's aggregator", "unexpectedly"
        if party is not self.aggregator:
            who = f"The collaborator of {party.where}"
            what = f"in round {number + 1}" if number is not None else "before the first round"
        raise WorkshopError(f"{who} ended {what} (exit code {process.code}); it says: {process.last_words()}")

    def _check_limits(self, ended: Collection[Party]) -> None:
        """End an aggregator without collaborators. Raises WorkshopError where a round takes too long."""
        now, limit, process = time.monotonic(), self.params.limit, self.aggregator.process
        active = [party.where for party in self.collaborators if party not in ended]
        if not active:
            self.idle_since = self.idle_since or now
            if now - self.idle_since > LEAVES:
                self.fx.end(process)
        elif now - max([self.began, *self.results.ended_at]) > limit:
            raise WorkshopError(late(self.results, limit, active if not process.running else []))

    def _observe(self) -> None:
        """Publish in sentences what happened after a process was killed on purpose."""
        results, following = self.results, self.results.order[self.restarted or 0 :]
        if self.params.fault == "dies":
            waited = [results.rounds[number]["elapsed_seconds"] for number in range(1, results.number)]
            results.fault(
                f"Institution {len(self.collaborators)} was killed in round {(self.last.log.round or 0) + 1}, after it "
                f"had taken part in {self._took_part(self.last)} of {results.number} rounds. With a straggler policy "
                f"in the plan the others went on without it; each round from then on took {np.mean(waited):.1f} s, "
                f"since OpenFL never learns that it is dead and waits {self.params.patience:g} s for it again in "
                "every round."
            )
            if self.aggregator.process.end_requested is not None:
                results.fault(
                    "When all rounds were over, OpenFL's aggregator went on waiting for it, to tell it that it may go: "
                    "it was ended by us."
                )
        if self.restarted is not None:
            went_on = f"went on with round {following[0] + 1}" if following else "went on with no round"
            results.fault(
                f"The aggregator was killed after round {self.restarted} and started again: it read what it had kept "
                f"and {went_on}, since its plan has persist_checkpoint: true; no collaborator had to be started again."
            )


def late(results: OpenFLResults, limit: float, active: Collection[str]) -> str:
    """Return the error of a round that took longer than `limit` seconds. `active` has the institutions that still run
    although the aggregator has ended; it is empty while the aggregator runs."""
    if active:
        return (
            f"OpenFL's aggregator has ended, but {' and '.join(active)} went on for {limit:g} s after the last round."
        )
    over = results.number == results.params.rounds
    what = "The test of the last model" if over else f"Round {results.number + 1}"
    missing = " and ".join(f"institution {number + 1}" for number in results.missing())
    why = f"nothing was heard of {missing}, and OpenFL waits for all" if missing else "all were heard of"
    return f"{what} has not ended within {limit:g} s: {why}; give rounds more time (--limit)."
