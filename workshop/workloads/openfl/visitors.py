"""Guests that try to take part with a certificate that isn't right: what they show, and how they are refused.

A client of OpenFL that is refused asks again for ever. Here it may do so a few times, and is then ended.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from workshop.workloads.openfl import OpenFLParams, pki, workspace
from workshop.workloads.openfl.fx import Fx, Steps, shown
from workshop.workloads.openfl.parties import AUTHORITY, Collaborator, Party
from workshop.workloads.openfl.post import Post

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
    """Why somebody was refused: from gRPC's status code, what the aggregator's side has said meanwhile, and until when
    the certificate was valid, in seconds since the epoch. TLS tells a guest no more than that the line is closed."""
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

    def __init__(self, params: OpenFLParams, fx: Fx, folder: Path, post: Post, host: Collaborator) -> None:
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
