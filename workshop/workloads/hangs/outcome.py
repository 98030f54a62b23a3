"""A program of the catalogue below a real `workshop watch`, and its outcome: for workload, bench and tests."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from workshop.core.errors import WorkshopError
from workshop.core.parent_death import guarded
from workshop.workloads.hangs.examples import WatchExample, environment

AFTER = 2.0  # seconds without a move before it looks
PATIENCE = 15.0  # seconds after `after` within which the doctor has ended a program that hangs
SECONDS = 60.0  # that a good program has to end, and that an interrupted program has
STOPPED = 3.0  # seconds that the program has to end after a stop; less than `runtime.run_monitor.CANCEL`
EVERY = 0.1  # seconds between looks whether a stop is asked for
Answer = dict[str, Any]


@dataclass(frozen=True)
class Outcome:
    """A run of an example: the diagnoses in the order in which they came."""

    example: WatchExample
    diagnoses: Sequence[Answer]

    @property
    def last(self) -> tuple[str, tuple[int, ...]]:
        """Kind and ranks of the last diagnosis."""
        return (self.diagnoses[-1]["kind"], tuple(self.diagnoses[-1]["ranks"])) if self.diagnoses else ("nothing", ())

    @property
    def right(self) -> bool:
        return self.last == (self.example.kind, self.example.ranks)

    @property
    def false_alarm(self) -> bool:
        return not self.example.kind and any(diagnosis["hang"] for diagnosis in self.diagnoses)

    def describe(self) -> str:
        """Say what was named and what is right."""
        kind, ranks = self.last
        right = " ".join([self.example.kind or "no hang", *map(str, self.example.ranks)])
        return f"named {' '.join([kind, *map(str, ranks)])}; right is {right}"


def watch(example: WatchExample, after: float = AFTER, stopped: Callable[[], bool] = lambda: False) -> Outcome:
    """Run an example below `workshop watch`; all its processes end with this one, also after kill -9. A program
    that the watch doesn't end in time is interrupted, as by Ctrl-C. The program is ended without a diagnosis where
    `stopped` says so. Raises WorkshopError where it can't be ended or gives no answer."""
    command = [str(Path(sys.prefix) / "bin" / "workshop"), "watch", "--after", str(after), "--end", "--json", "--"]
    with (
        tempfile.TemporaryDirectory(prefix="hang-", ignore_cleanup_errors=True) as folder,
        tempfile.TemporaryFile("w+") as output,
    ):
        process = subprocess.Popen(
            guarded([*command, *example.command], expendable=True), cwd=folder, env=environment(folder),
            start_new_session=True, stdin=subprocess.PIPE, stdout=output, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        try:
            for seconds in (after + PATIENCE if example.kind else SECONDS, SECONDS):
                if _ended(process, seconds, stopped):
                    break
                os.killpg(process.pid, signal.SIGINT)
                if stopped():
                    with suppress(subprocess.TimeoutExpired):
                        process.wait(STOPPED)
                    return Outcome(example, [])
        finally:
            process.kill()  # what it has started ends with it
            process.communicate()
        output.seek(0)
        text = output.read()
        start = f"\n{text}".rfind("\n{\n")  # behind the program's own output
        if start < 0:
            raise WorkshopError(f"{example.name} gave no answer below workshop watch (exit code {process.returncode}).")
        document = json.loads(text[start:])
        if document["exit_code"] and not document["ended"] and not example.kind:
            raise WorkshopError(f"{example.name} has failed with exit code {document['exit_code']}; run it by itself.")
        return Outcome(example, document["diagnoses"])


def _ended(process: subprocess.Popen[bytes], seconds: float, stopped: Callable[[], bool]) -> bool:
    """Whether the process ends within these seconds, and before a stop is asked for."""
    until = time.monotonic() + seconds
    while time.monotonic() < until and not stopped():
        with suppress(subprocess.TimeoutExpired):
            process.wait(EVERY)
            return True
    return False
