"""Does `workshop watch` name hangs right, how soon, and does it take good programs for hangs?

Each program of the catalogue (`examples`) runs with real ranks below a real `workshop watch`. A hang is named right if
kind and ranks of the last diagnosis are those that the program's comments name. A good program that is ended for a
hang is a false alarm.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from itertools import chain, cycle, islice
from pathlib import Path
from typing import Any

from workshop import bench
from workshop.core.errors import WorkshopError
from workshop.workloads.hangs.examples import WatchExample, environment, examples

AFTER = 2.0  # seconds without a move before it looks
PATIENCE = 15.0  # seconds beyond `after` that a program has; one that waits for what may come is not ended before
SECONDS = 60.0  # in which a good program ends, and in which an interrupted one does
WORKERS = 3  # programs at once: most ranks wait
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


def watch(example: WatchExample, after: float = AFTER) -> Outcome:
    """Run an example below `workshop watch`. One that hangs without an end is interrupted, as by Ctrl-C. Raises
    WorkshopError where it can't be ended or gives no answer."""
    command = [str(Path(sys.prefix) / "bin" / "workshop"), "watch", "--after", str(after), "--end", "--json", "--"]
    with (
        tempfile.TemporaryDirectory(prefix="hang-", ignore_cleanup_errors=True) as folder,
        tempfile.TemporaryFile("w+") as output,
    ):
        process = subprocess.Popen(
            [*command, *example.command], cwd=folder, env=environment(folder), start_new_session=True,
            stdin=subprocess.PIPE, stdout=output, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        try:
            for seconds in (after + PATIENCE if example.kind else SECONDS, SECONDS):
                try:
                    process.wait(seconds)
                    break
                except subprocess.TimeoutExpired:
                    os.killpg(process.pid, signal.SIGINT)
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


def outcomes(chosen: Sequence[WatchExample], after: float = AFTER, workers: int = WORKERS) -> Iterator[Outcome]:
    """Run examples, several at once; yields each outcome as it comes."""
    with ThreadPoolExecutor(workers) as pool:
        futures = [pool.submit(watch, example, after) for example in chosen]
        try:
            for future in as_completed(futures):
                yield future.result()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def run(good: int, progress: bench.Progress = lambda done, total: None, after: float = AFTER) -> Answer:
    """Run all hangs, and good programs `good` times in all; returns the bench's document."""
    hangs, fine = list(examples().values()), list(islice(cycle(examples("good").values()), good))
    collected: list[Outcome] = []
    total = len(hangs) + len(fine)
    progress(0, total)
    for outcome in chain(outcomes(hangs, after), outcomes(fine, after)):
        collected.append(outcome)
        progress(len(collected), total)
    return document(collected)


def document(collected: Sequence[Outcome]) -> Answer:
    """The bench's document; its rows name each hang that was named wrongly, and each false alarm.

    Ratios: `named_right`, the share of hangs; `median_seconds` from the last move to the right name; `false_alarms`,
    a count."""
    hangs = [outcome for outcome in collected if outcome.example.kind]
    fine = [outcome for outcome in collected if not outcome.example.kind]
    right = [outcome for outcome in hangs if outcome.right]
    alarms = [outcome for outcome in fine if outcome.false_alarm]
    rows: list[Answer] = [{"name": "named_right", "value": len(right) / len(hangs), "unit": f"of {len(hangs)} hangs"}]
    seconds = [outcome.diagnoses[-1]["seconds"] for outcome in right]
    if seconds:
        rows.append(bench.row("median_seconds", seconds, "s from the last move to the name"))
    rows.append({"name": "false_alarms", "value": len(alarms), "unit": f"in {len(fine)} runs of good programs"})
    ratios = {row["name"]: row["value"] for row in rows}
    for outcome in sorted([*hangs, *alarms], key=lambda outcome: outcome.example.name):
        if not outcome.right:
            rows.append(bench.missing(outcome.example.name, "", outcome.describe()))
    return bench.document("doctor", bench.machine(["mpi4py", "py-spy"]), rows, ratios)
