"""Who takes part, and what each does: the aggregator with the authority, and the collaborators.

Each is a sequence of steps on its rank, which yields wherever it has to wait: see `run`, which takes everybody's turns.
"""

from __future__ import annotations

import json
import shlex
import signal
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workshop.core.errors import WorkshopError
from workshop.core.ports import free_port
from workshop.workloads.openfl import OpenFLParams, pki, workspace
from workshop.workloads.openfl.fx import Fx, FxCommand, Steps, shown
from workshop.workloads.openfl.log_reader import Log, MetricsFile
from workshop.workloads.openfl.mailbox import Mailbox

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

    def __init__(self, params: OpenFLParams, fx: Fx, folder: Path, where: str, post: Mailbox) -> None:
        self.params, self.post = params, post
        self.side = pki.Side(fx, folder, where)
        folder.mkdir(mode=0o700)
        self.command: FxCommand | None = None  # the process that takes part in the federation

    @property
    def where(self) -> str:
        return self.side.where

    def start(self, words: str) -> FxCommand:
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

    def __init__(self, params: OpenFLParams, fx: Fx, folder: Path, post: Mailbox, initial: bytes) -> None:
        super().__init__(params, fx, folder, "the aggregator", post)
        self.initial = initial
        self.metrics = MetricsFile(self.side.here / "logs" / "aggregator_metrics.txt")
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

    def _check(self, command: FxCommand) -> None:
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
        post: Mailbox,
        one: int,
        images: Mapping[str, NDArray[np.generic]],
    ) -> None:
        super().__init__(params, fx, folder, f"institution {one + 1}", post)
        self.one, self.name, self.images = one, workspace.collaborator(one), images
        self.dies = params.fault == "dies" and one == params.collaborators - 1
        self.certified = False  # its certificate is there, all of it
        self.metrics = MetricsFile(self.side.here / "logs" / f"{self.name}_metrics.txt")

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


TRIES = 3  # refusals until a guest is ended
SECONDS = 90.0  # in which it has to be refused
NAMES = {"foreign-certificate": "stranger", "expired-certificate": "latecomer"}
_ONE: Mapping[str, np.ndarray] = {  # a guest needs a file of images to get as far as the door
    "X_train": np.zeros((1, 28, 28, 1), np.float32),
    "y_train": np.zeros(1, np.int32),
    "X_valid": np.zeros((1, 28, 28, 1), np.float32),
    "y_valid": np.zeros(1, np.int32),
}
WRONG, REFUSED = "RSA routines", "CERTIFICATE_VERIFY_FAILED"  # what the aggregator's gRPC says of a certificate


def reason(code: str, words: str, expires: float, now: float) -> str:
    """Why somebody was refused: from gRPC's status code, the words of both sides, and when the certificate expires, in
    seconds since the epoch. TLS tells a guest no more than that the line is closed."""
    if code == "UNAUTHENTICATED":
        return f"the name in the certificate is another one (gRPC: {code})"
    if WRONG in words:
        meant = "TLS: the authority of that name has another key than the one that signed it"
    elif REFUSED in words and expires < now:
        meant = f"TLS: it was valid until {datetime.fromtimestamp(expires, UTC).date().isoformat()} only"
    elif REFUSED in words:
        meant = "TLS: nobody here knows the authority that signed it"
    else:
        meant = "the connection ends before a word is read"
    return f"{meant} (gRPC: {code})"


class Visitor(Party):
    """A guest. `host` is the institution on whose rank it lives."""

    def __init__(self, params: OpenFLParams, fx: Fx, folder: Path, post: Mailbox, host: Collaborator) -> None:
        self.host = host
        other = params.fault == "other-name"
        self.name = workspace.collaborator(0) if other else NAMES[params.fault]
        super().__init__(params, fx, folder, f"{host.where} as {self.name}" if other else f"a {self.name}", post)

    def steps(self) -> Steps:
        archive = yield from self.post.wait("archive")
        request = yield from pki.request(self.side, self.name, archive, (_ONE, 0))
        described = yield from self._certified(request)
        self.show(self.name, described)
        yield from self.post.wait("begin")
        command = self.start(f"fx collaborator start -n {self.name}")
        deadline = time.monotonic() + SECONDS
        while command.running and len(self.log.refusals) < TRIES and self.log.round is None:
            self.log.read()
            if time.monotonic() > deadline:
                break
            yield
        self.side.fx.end(command)
        while command.running:
            yield
        self.log.read()
        if self.log.refusals and self.log.round is None:
            words = yield from self._said()
            why = reason(self.log.refusals[0], words, described["expires"], time.time())
            self.show(self.name, described, accepted=False, why=why)
            times = len(self.log.refusals)
            self.tell(
                "fault",
                words=f"{self.where[:1].upper()}{self.where[1:]} was refused {times} times, the first time with "
                f"{self.log.refusals[0]}, and would have gone on asking: it was ended by us. The others went on.",
            )
        elif self.log.round is not None:
            self.show(self.name, described, accepted=True)
            self.tell("fault", words=f"{self.where[:1].upper()}{self.where[1:]} was let in.")
        else:
            self.tell("fault", words=f"Nobody answered {self.where}: the federation had ended before it asked.")

    def _said(self) -> Steps:
        """What the aggregator's side has said of connections, and ours."""
        self.post.send(AUTHORITY, "aggregator's words?", str(self.post.comm.rank).encode())
        theirs = yield from self.post.wait("aggregator's words")
        return (theirs + shown(self.side.folder / "run.log")).decode(errors="replace")

    def _certified(self, request: bytes) -> Steps:
        """Get the certificate that isn't right, and describe it."""
        here, file = self.side.here, pki.certificate(self.name)
        if self.params.fault == "other-name":
            source = self.host.side.here
            while not self.host.certified:
                yield
            pki.copy_certificate(source, self.host.name, here, self.name)
            (here / pki.CHAIN).write_bytes((source / pki.CHAIN).read_bytes())
            return (yield from pki.describe(self.side, file))
        if self.params.fault == "foreign-certificate":
            yield from self.side.run("fx workspace certify")
            yield from self.side.run(f"fx collaborator certify -n {self.name} --silent")
            described = yield from pki.describe(self.side, file)
        else:
            self.post.send(AUTHORITY, "request late", (here / file.with_suffix(".csr")).read_bytes())
            (here / file).write_bytes((yield from self.post.wait("signed late")))
        # The authorities' certificates are no secret: with them the guest at least knows whom it talks to.
        (here / pki.CHAIN).write_bytes((yield from self.post.wait("chain")))
        if self.params.fault != "foreign-certificate":
            described = yield from pki.describe(self.side, file)
        return described
