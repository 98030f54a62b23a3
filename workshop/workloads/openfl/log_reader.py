"""What OpenFL writes while it runs, as it comes: lines of metrics, and the sentences of its log that matter."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

ROUND = "round_number"  # in a line of metrics; OpenFL counts from 0
LISTENS = "Starting Aggregator gRPC Server"
RETRIES = "Failed to send data request to aggregator"
_DONE = re.compile(r"Round (\d+): Collaborators that have completed all tasks: \[(.*)\]")
_TASKS = re.compile(r"Round: (\d+) Received Tasks")
_CODE = re.compile(RETRIES + r" \S+, error code StatusCode\.([A-Z_]+)")


class GrowingFile:
    """The lines of a file that grows; nothing while it isn't there yet."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._at = 0
        self._unread = b""

    def skip(self) -> None:
        """Leave out what is there already."""
        self._at, self._unread = (self.path.stat().st_size if self.path.exists() else 0), b""

    def lines(self) -> list[str]:
        """What has been added since the last call, whole lines only."""
        try:
            with open(self.path, "rb") as file:
                file.seek(self._at)
                more = file.read()
        except OSError:
            return []
        self._at += len(more)
        *lines, self._unread = (self._unread + more).split(b"\n")
        return [line.decode(errors="replace") for line in lines]


class MetricsFile(GrowingFile):
    """A metrics file of OpenFL: a JSON object for each round, flushed when the round ends."""

    def rounds(self) -> list[dict[str, Any]]:
        """The rounds that have been added. Other lines are left out: the process that writes may be killed."""
        found = []
        for line in self.lines():
            try:
                read = json.loads(line)
            except ValueError:
                continue
            if isinstance(read, dict) and isinstance(read.get(ROUND), int):
                found.append(read)
        return found


class Log(GrowingFile):
    """OpenFL's log of an aggregator or a collaborator."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.listens = False  # of an aggregator
        self.round: int | None = None  # of a collaborator: the last one in which it was given work, from 0
        self.refusals: list[str] = []  # gRPC's status codes
        self.done: dict[int, list[str]] = {}  # of an aggregator: whose work each round's model is made of, from 0

    def read(self) -> None:
        """Go on to the end."""
        for line in self.lines():
            self.listens |= LISTENS in line
            if found := _DONE.search(line):
                self.done[int(found[1])] = [name.strip(" '") for name in found[2].split(",")]
            if found := _TASKS.search(line):
                self.round = int(found[1])
            if found := _CODE.search(line):
                self.refusals.append(found[1])


def accuracy(line: dict[str, Any], name: str, task: str) -> float | None:
    """A metric of somebody's task: name is a collaborator or "aggregator"."""
    value = line.get(f"{name}/{task}")
    return float(value) if isinstance(value, int | float) else None
