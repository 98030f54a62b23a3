"""Does `workshop watch` name hangs right, how soon, and does it take good programs for hangs?

Each program of the catalogue runs with real ranks below a real `workshop watch`. A hang is named right if kind and
ranks of the last diagnosis are those that the program's comments name. A good program that is ended for a hang is a
false alarm.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from itertools import chain, cycle, islice
from typing import Any

from benchmarks import Document, Row, document, machine, missing, row, say
from workshop.workloads.hangs.examples import WatchExample, examples
from workshop.workloads.hangs.run import AFTER, watch

WORKERS = 3  # programs at once: most ranks wait


@dataclass(frozen=True)
class Outcome:
    """A run of an example: the diagnoses in the order in which they came."""

    example: WatchExample
    diagnoses: Sequence[dict[str, Any]]

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


def run(good: int = 100) -> Document:
    """Run all hangs, and good programs `good` times in all; returns the document. Raises WorkshopError."""
    hangs, fine = list(examples().values()), list(islice(cycle(examples("good").values()), good))
    collected: list[Outcome] = []
    for outcome in chain(outcomes(hangs), outcomes(fine)):
        collected.append(outcome)
        say(f"{len(collected)} of {len(hangs) + len(fine)}: {outcome.example.name}: {outcome.describe()}")
    return told(collected)


def outcomes(chosen: Sequence[WatchExample], after: float = AFTER, workers: int = WORKERS) -> Iterator[Outcome]:
    """Run examples, several at once; yields each outcome as it comes."""
    with ThreadPoolExecutor(workers) as pool:
        futures = [pool.submit(lambda chosen: Outcome(chosen, watch(chosen, after)), example) for example in chosen]
        try:
            for future in as_completed(futures):
                yield future.result()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def told(collected: Sequence[Outcome]) -> Document:
    """The document; its rows name each hang that was named wrongly, and each false alarm. Ratios: `named_right`, the
    share of hangs; `median_seconds` from the last move to the right name; `false_alarms`, a count."""
    hangs = [outcome for outcome in collected if outcome.example.kind]
    right = [outcome for outcome in hangs if outcome.right]
    alarms = [outcome for outcome in collected if outcome.false_alarm]
    rows: list[Row] = [{"name": "named_right", "value": len(right) / len(hangs), "unit": f"of {len(hangs)} hangs"}]
    if seconds := [outcome.diagnoses[-1]["seconds"] for outcome in right]:
        rows.append(row("median_seconds", seconds, "s from the last move to the name"))
    runs = len(collected) - len(hangs)
    rows.append({"name": "false_alarms", "value": len(alarms), "unit": f"in {runs} runs of good programs"})
    figures = {line["name"]: line["value"] for line in rows}
    for outcome in sorted([*hangs, *alarms], key=lambda outcome: outcome.example.name):
        if not outcome.right:
            rows.append(missing(outcome.example.name, "", outcome.describe()))
    return document(machine(["mpi4py", "py-spy"]), rows, figures)
