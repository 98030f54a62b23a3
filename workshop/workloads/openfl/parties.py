"""The parties of a federation: the aggregator, the collaborators, and a guest with a certificate that isn't right.

Each party has its own folder, runs `fx` commands there, and has one process that takes part. On one machine all folders
belong to one user: nothing but this module keeps an institution's keys from the others.
"""

from __future__ import annotations

import json
import math
import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from workshop.workloads.openfl import workspace
from workshop.workloads.openfl.fx import LOG, Fx, FxCommand, log_tail

ROUND = "round_number"  # in a line of metrics; OpenFL counts from 0
_DONE = re.compile(r"Round (\d+): Collaborators that have completed all tasks: \[(.*)\]")
_WORK = re.compile(r"Round: (\d+) Received Tasks")
_REFUSED = re.compile(r"Failed to send data request to aggregator \S+, error code StatusCode\.([A-Z_]+)")
LISTENS = "Starting Aggregator gRPC Server"


class GrowingFile:
    """Reads the new lines of a growing file; none while the file doesn't exist."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._position = 0
        self._unread = b""

    def lines(self) -> list[str]:
        """Return the complete lines that were added since the last call."""
        try:
            with open(self.path, "rb") as file:
                file.seek(self._position)
                data = file.read()
        except OSError:
            return []
        self._position += len(data)
        *lines, self._unread = (self._unread + data).split(b"\n")
        return [line.decode(errors="replace") for line in lines]

    def rounds(self) -> list[dict[str, Any]]:
        """Return the rounds that were added to a file of metrics, a JSON object for each. Damaged lines are left out:
        the writing process may be killed."""
        rounds = []
        for line in self.lines():
            try:
                values = json.loads(line)
            except ValueError:
                continue
            if isinstance(values, dict) and isinstance(values.get(ROUND), int):
                rounds.append(values)
        return rounds


class Log(GrowingFile):
    """OpenFL's log of an aggregator or a collaborator."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.listens = False  # aggregator: whether it can be reached
        self.done: dict[int, list[str]] = {}  # aggregator: the institutions in each round's model, rounds from 0
        self.round: int | None = None  # collaborator: the last round in which it got work, from 0
        self.refusals: list[str] = []  # collaborator: gRPC's status codes

    def read(self) -> None:
        """Read the new lines."""
        for line in self.lines():
            self.listens |= LISTENS in line
            if match := _DONE.search(line):
                self.done[int(match[1])] = [name.strip(" '") for name in match[2].split(",")]
            if match := _WORK.search(line):
                self.round = int(match[1])
            if match := _REFUSED.search(line):
                self.refusals.append(match[1])


class Party:
    """A party. `name` is its name in the certificate, `where` its name for people; `certificate` is its record in the
    metric `certificates`."""

    def __init__(self, fx: Fx, folder: Path, name: str, where: str) -> None:
        self.fx, self.folder, self.name, self.where = fx, folder, name, where
        self.here = folder / workspace.FOLDER
        self.log = Log(self.here / LOG["LOG_FILE"])
        self.metrics = GrowingFile(self.here / "logs" / f"{name}_metrics.txt")
        self.certificate: dict[str, Any] = {"name": name, "accepted": None, "why": ""}
        folder.mkdir(mode=0o700)

    @property
    def logs(self) -> Mapping[str, bytes]:
        """The party's logs, by their file names in the run."""
        name = self.where.removeprefix("the ").replace(" ", "-")
        return {f"{name}.log": log_tail(self.folder / "run.log"), f"{name}-commands.log": log_tail(self._commands_log)}

    def start(self, words: str, cwd: Path | None = None) -> FxCommand:
        """Start a command in the party's workspace."""
        return self.fx.start(words, self.where, cwd or self.here, self._commands_log)

    def run(self, words: str) -> None:
        """Run a command until it has ended. Raises WorkshopError where it fails."""
        self.fx.wait(self.start(words))

    def take_part(self, words: str) -> None:
        """Start the process that takes part in the federation; it has no time limit of its own."""
        self.process = self.fx.start(words, self.where, self.here, self.folder / "run.log", math.inf)

    @property
    def _commands_log(self) -> Path:
        return self.folder / "commands.log"


def certify(
    fx: Fx, aggregator: Party, others: list[Party], plan: Mapping[str, Any], initial: bytes, network: str = ""
) -> None:
    """Make the aggregator's workspace with the authority and the aggregator's certificate; then for each other party a
    workspace, a key and a request for a certificate.

    The others get the workspace's archive. Each private key is made where it is used, and never leaves that folder;
    this includes the authority's key.
    """
    workspace.write_workspace(aggregator.here, plan, initial, network)
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
        (party.here / "data" / party.name).mkdir(mode=0o700, parents=True)
        shutil.move(party.folder / workspace.IMAGES, party.here / "data" / party.name)
    for words in ("create -n {0} -d data/{0}", "generate-cert-request -n {0}"):
        fx.wait(*(party.start(f"fx collaborator {words.format(party.name)} --silent") for party in others))


def sign(fx: Fx, aggregator: Party, collaborators: list[Party]) -> None:
    """Have the authority sign the requests and list the names, one after the other, and each collaborator import its
    certificate. `--silent` skips a step for people: they compare a request's hash over another channel."""
    for party in collaborators:
        request = f"col_{party.name}_to_agg_cert_request.zip"
        shutil.copy(party.here / request, aggregator.here)
        aggregator.run(f"fx collaborator certify --request-pkg {request} --silent")
    signed = {party: f"agg_to_col_{party.name}_signed_cert.zip" for party in collaborators}
    for party, archive in signed.items():
        shutil.copy(aggregator.here / archive, party.here)
    fx.wait(*(party.start(f"fx collaborator certify --import {archive}") for party, archive in signed.items()))
