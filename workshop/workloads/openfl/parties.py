"""Who takes part, and what each does: the aggregator with the authority, and the collaborators.

Each is a sequence of steps on its rank, which yields wherever it has to wait: see `run`, which takes everybody's turns.
"""

from __future__ import annotations

import json
import shlex
import signal
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workshop.core.errors import WorkshopError
from workshop.core.ports import free_port
from workshop.workloads.openfl import OpenFLParams, pki, workspace
from workshop.workloads.openfl.fx import Command, Fx, Steps, shown
from workshop.workloads.openfl.log_reader import Log, Metrics
from workshop.workloads.openfl.post import Post

AUTHORITY = 0  # the rank of the authority and of the aggregator
LOG = {"LOG_FILE": "logs/fx.log"}  # OpenFL's own setting: its log without the terminal's layout
LONG = 7 * 86_400.0  # seconds: limits of whole federations are kept elsewhere
STARTS = 120.0  # seconds until the aggregator listens
LEAVES = 8.0  # seconds: OpenFL's aggregator looks every five whether everybody has gone


def home(one: int, ranks: int) -> int:
    """The rank on which a collaborator lives: the aggregator's only where there are fewer ranks than parties."""
    return (one + 1) % ranks


class Party:
    """What everybody has: commands, a folder, letters, and how far it is."""

    def __init__(self, params: OpenFLParams, fx: Fx, folder: Path, where: str, post: Post) -> None:
        self.params, self.post = params, post
        self.side = pki.Side(fx, folder, where)
        folder.mkdir(mode=0o700)
        self.command: Command | None = None  # the process that takes part in the federation

    @property
    def where(self) -> str:
        return self.side.where

    def start(self, words: str) -> Command:
        """Start the process that takes part."""
        here = self.side.here
        self.log = Log(here / LOG["LOG_FILE"])
        self.log.skip()  # of an earlier one
        self.command = self.side.fx.start(words, self.where, here, self.side.folder / "run.log", limit=LONG, **LOG)
        return self.command

    def tell(self, subject: str, /, **told: Any) -> None:
        """Tell the rank of the aggregator something."""
        self.post.send(AUTHORITY, subject, json.dumps(told).encode())

    def show(self, name: str, described: Mapping[str, Any], accepted: bool | None = None, why: str = "") -> None:
        """Tell of a certificate, and whether it was accepted; None: nobody has looked yet."""
        self.tell("certificate", name=name, **described, accepted=accepted, why=why)


class Aggregator(Party):
    """Signs certificates, and runs the aggregator."""

    def __init__(self, params: OpenFLParams, fx: Fx, folder: Path, post: Post, initial: bytes) -> None:
        super().__init__(params, fx, folder, "the aggregator", post)
        self.initial = initial
        self.metrics = Metrics(self.side.here / "logs" / "aggregator_metrics.txt")
        self.began: float | None = None  # when everybody was told to begin
        self.restarted: int | None = None  # after how many rounds
        self.rounds = 0  # that have ended
        self.done: dict[int, list[str]] = {}  # whose work each of OpenFL's rounds was made of
        self.left = False  # it was alone with one that never came back, and ended by us

    def steps(self) -> Steps:
        params = self.params
        dies = params.fault == "dies"
        described = workspace.plan(
            rounds=params.rounds,
            epochs=params.epochs,
            batch=params.batch,
            rate=params.rate,
            model=params.model,
            seed=params.seed,
            port=free_port(),
            checkpoint=params.fault == "restart",
            patience=params.patience if dies else None,
            enough=params.collaborators - 1 if dies else params.collaborators,
        )
        archive = yield from pki.certify_federation(self.side, described, self.initial)
        for rank in self._homes:
            self.post.send(rank, "archive", archive)
        for one in range(params.collaborators):
            name = workspace.collaborator(one)
            request = yield from self.post.wait(f"request {name}")
            signed = yield from pki.sign(self.side, name, request)
            self.post.send(home(one, self.post.comm.size), f"signed {name}", signed)
        self.show("aggregator", (yield from pki.describe(self.side, pki.SERVER)))
        if params.fault in ("foreign-certificate", "expired-certificate"):
            self.post.send(self._last, "chain", (self.side.here / pki.CHAIN).read_bytes())
        if params.fault == "expired-certificate":
            yield from self._sign_late()
        for one in range(params.collaborators):
            yield from self.post.wait(f"ready {workspace.collaborator(one)}")
        yield from self._listen()
        for rank in self._homes:
            self.post.send(rank, "begin", b"")
        self.began = time.monotonic()
        yield from self._watch()

    def took_part(self, one: int) -> int:
        """In how many rounds there was work of an institution in the model."""
        return sum(workspace.collaborator(one) in self.done.get(number, []) for number in range(self.rounds))

    def _sign_late(self) -> Steps:
        """Sign a visitor's request with a date that is over; it is in nobody's list."""
        package = self.side.folder / "late.csr"
        package.write_bytes((yield from self.post.wait("request late")))
        out = self.side.folder / "late.crt"
        words = shlex.join(["certificates.py", "expire", str(package), str(pki.SIGNING_CA), str(out)])
        yield from self.side.run(words)
        self.post.send(self._last, "signed late", out.read_bytes())

    @property
    def _last(self) -> int:
        """The rank of the last collaborator, where visitors live."""
        return home(self.params.collaborators - 1, self.post.comm.size)

    @property
    def _homes(self) -> list[int]:
        """Each collaborator's rank, and once more the last one's, where a visitor may live."""
        return [*(home(one, self.post.comm.size) for one in range(self.params.collaborators)), self._last]

    def _listen(self) -> Steps:
        """Start the aggregator and wait until it can be reached."""
        command = self.start("fx aggregator start")
        deadline = time.monotonic() + STARTS
        while not self.log.listens:
            self.log.read()
            self._check(command)
            if time.monotonic() > deadline:
                raise WorkshopError(f"OpenFL's aggregator did not listen within {STARTS:.0f} s.")
            yield

    def _watch(self) -> Steps:
        """Until the aggregator has ended; it is started again where that is asked for."""
        while True:
            command = self.command
            assert command is not None
            self.log.read()
            self.done |= self.log.done
            self._check(command)
            if not command.running:
                # Nobody answers from now on: a visitor that asks later, or has just asked, finds this.
                self.post.send(self._last, "aggregator's words", shown(self.side.folder / "run.log"))
                return
            if (rank := self.post.take("aggregator's words?")) is not None:
                self.post.send(int(rank), "aggregator's words", shown(self.side.folder / "run.log"))
            if self.params.fault == "restart" and self.restarted is None and self.rounds >= 2:
                self.side.fx.signal(command, signal.SIGKILL)
                self.restarted = self.rounds
                while command.running:
                    yield
                yield from self._listen()
            yield

    def _check(self, command: Command) -> None:
        """Raise where the aggregator has ended without being asked to."""
        if not command.running and command.code != 0 and command.asked is None:
            if self.params.fault == "restart" and command.code == -signal.SIGKILL:
                return
            raise WorkshopError(
                f"OpenFL's aggregator ended unexpectedly (exit code {command.code}); it says: {command.last_words()}"
            )


class Collaborator(Party):
    """One institution: its images, its key, and the process that learns from them."""

    def __init__(
        self,
        params: OpenFLParams,
        fx: Fx,
        folder: Path,
        post: Post,
        one: int,
        images: Mapping[str, NDArray[np.generic]],
    ) -> None:
        super().__init__(params, fx, folder, f"institution {one + 1}", post)
        self.one, self.name, self.images = one, workspace.collaborator(one), images
        self.dies = params.fault == "dies" and one == params.collaborators - 1
        self.certified = False  # its certificate is there, all of it
        self.metrics = Metrics(self.side.here / "logs" / f"{self.name}_metrics.txt")

    def steps(self) -> Steps:
        archive = yield from self.post.wait("archive")
        request = yield from pki.request(self.side, self.name, archive, (self.images, self.one))
        self.post.send(AUTHORITY, f"request {self.name}", request)
        signed = yield from self.post.wait(f"signed {self.name}")
        yield from pki.accept(self.side, self.name, signed)
        self.certified = True
        described = yield from pki.describe(self.side, pki.certificate(self.name))
        self.show(self.name, described)
        self.post.send(AUTHORITY, f"ready {self.name}", b"")
        yield from self.post.wait("begin")
        command = self.start(f"fx collaborator start -n {self.name}")
        known = False
        while command.running:
            self.log.read()
            if self.log.round is not None and not known:
                known = True
                self.show(self.name, described, accepted=True)
            if self.dies and self.log.round is not None and self.log.round >= 1:
                self.side.fx.signal(command, signal.SIGKILL)
            self._tell()
            yield
        self.log.read()
        self._tell()
        self.tell("ended", one=self.one, code=command.code, round=self.log.round)
        if command.code != 0 and not self.dies and command.asked is None:
            when = f"in round {self.log.round + 1}" if self.log.round is not None else "before the first round"
            raise WorkshopError(
                f"The collaborator of institution {self.one + 1} ended {when} (exit code {command.code}), and OpenFL "
                f"would wait for it for ever; it says: {command.last_words()}"
            )

    def _tell(self) -> None:
        for line in self.metrics.rounds():
            self.tell("round", one=self.one, line=line)
