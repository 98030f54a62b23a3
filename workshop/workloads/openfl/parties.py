"""The parties of a federation: the aggregator, the collaborators, and a guest with a foreign certificate.

Each party has its own folder, runs `fx` commands there, and has one process that takes part. On one machine all folders
belong to one user: nothing but this module keeps an institution's keys from the others.
"""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

from workshop.workloads.openfl import workspace
from workshop.workloads.openfl.fx import LOG, Fx, FxCommand

ROUND = "round_number"  # in a line of metrics; OpenFL counts from 0
_DONE = re.compile(r"Round (\d+): Collaborators that have completed all tasks: \[(.*)\]")
_WORK = re.compile(r"Round: (\d+) Received Tasks")
_REFUSED = re.compile(r"Failed to send data request to aggregator \S+, error code StatusCode\.([A-Z_]+)")
LISTENS = "Starting Aggregator gRPC Server"


class GrowingFile:
    """Reads the new lines of a growing file; none while the file doesn't exist."""

    def __init__(self, path: Path) -> None:
        self._path, self._position = path, 0

    def lines(self) -> list[str]:
        """Return the complete lines that were added since the last call."""
        if not self._path.exists():
            return []
        with open(self._path, "rb") as file:
            file.seek(self._position)
            data = file.read()
        complete = data[: data.rfind(b"\n") + 1]
        self._position += len(complete)
        return complete.decode(errors="replace").split("\n")[:-1]


class Party:
    """A party. `name` is its name in the certificate, `where` its name for people; `certificate` is its record in the
    metric `certificates`."""

    process: FxCommand  # which takes part in the federation

    def __init__(self, fx: Fx, folder: Path, name: str, where: str) -> None:
        self.fx, self.folder, self.name, self.where = fx, folder, name, where
        self.here = folder / workspace.FOLDER
        self.output = folder / "fx.log"  # of all its commands
        self.certificate: dict[str, Any] = {"name": name, "accepted": None, "why": ""}
        self.listens = False  # aggregator: whether it can be reached
        self.done: dict[int, list[str]] = {}  # aggregator: the institutions in each round's model, rounds from 0
        self.round: int | None = None  # collaborator: the last round in which it got work, from 0
        self.refusals: list[str] = []  # collaborator: gRPC's status codes
        self._log, self._metrics = GrowingFile(self.here / LOG), GrowingFile(self.here / f"logs/{name}_metrics.txt")
        folder.mkdir(mode=0o700)

    def rounds(self) -> list[dict[str, Any]]:
        """Return the rounds whose metrics were added since the last call, a mapping for each."""
        return [json.loads(line) for line in self._metrics.lines()]

    def read(self) -> None:
        """Read the new lines of its log."""
        for line in self._log.lines():
            self.listens |= LISTENS in line
            if match := _DONE.search(line):
                self.done[int(match[1])] = [name.strip(" '") for name in match[2].split(",")]
            if match := _WORK.search(line):
                self.round = int(match[1])
            if match := _REFUSED.search(line):
                self.refusals.append(match[1])

    def start(self, words: str, cwd: Path | None = None) -> FxCommand:
        """Start a command in the party's workspace."""
        return self.fx.start(words, self.where, cwd or self.here, self.output)

    def run(self, words: str) -> None:
        """Run a command until it has ended. Raises WorkshopError where it fails."""
        self.fx.wait(self.start(words))

    def take_part(self, words: str) -> None:
        """Start the process that takes part in the federation."""
        self.process = self.fx.start(words, self.where, self.here, self.output, takes_part=True)


def certify(fx: Fx, aggregator: Party, collaborators: list[Party], guests: list[Party]) -> None:
    """Make an authority and the aggregator's certificate in the aggregator's workspace; then for each other party a
    workspace, a key and a request for a certificate. The authority signs the collaborators' requests.

    The others get the workspace's archive. Each private key is made where it is used, and never leaves that folder;
    this includes the authority's key. `--silent` skips a step for people: they compare a request's hash over another
    channel.
    """
    others = [*collaborators, *guests]
    for words in (
        f"fx plan initialize -a {workspace.AGGREGATOR}",
        "fx workspace certify",
        f"fx aggregator generate-cert-request --fqdn {workspace.AGGREGATOR}",
        f"fx aggregator certify --fqdn {workspace.AGGREGATOR} --silent",
        "fx workspace export",
    ):
        aggregator.run(words)
    archive = f"{workspace.FOLDER}.zip"
    for party in others:
        shutil.copy(aggregator.here / archive, party.folder)
    fx.wait(*(party.start(f"fx workspace import --archive {archive}", party.folder) for party in others))
    for party in others:
        (party.here / "data" / party.name).mkdir(parents=True)
        shutil.move(party.folder / workspace.IMAGES, party.here / "data" / party.name)
    for words in ("create -n {0} -d data/{0}", "generate-cert-request -n {0}"):
        fx.wait(*(party.start(f"fx collaborator {words.format(party.name)} --silent") for party in others))
    for party in collaborators:
        request = f"col_{party.name}_to_agg_cert_request.zip"
        shutil.copy(party.here / request, aggregator.here)
        aggregator.run(f"fx collaborator certify --request-pkg {request} --silent")
    signed = {party: f"agg_to_col_{party.name}_signed_cert.zip" for party in collaborators}
    for party, archive in signed.items():
        shutil.copy(aggregator.here / archive, party.here)
    fx.wait(*(party.start(f"fx collaborator certify --import {archive}") for party, archive in signed.items()))
