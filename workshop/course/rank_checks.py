"""The part of a check that runs on each rank; `workshop.notebook.lab` calls it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from workshop.course import exercise_checks
from workshop.course.exercise_checks import MISSING, CheckOutcome


def check(names: Mapping[str, Any], lab: str, text: str, id: str, seconds: float, folder: str) -> tuple[str, str]:
    """Check the cells' answer to an exercise on this rank. Returns the outcome's kind and sentence, the same on all
    ranks. Collective.

    `text` is the lab's checks.py, because this host may not have the lab's folder. This rank's fault is written into
    `folder` before the other ranks are asked, which may never answer.
    """
    exercise = exercise_checks.load(Path(lab), text)[id]
    comm = names["comm"]

    def tell(outcome: CheckOutcome) -> None:
        with suppress(OSError):  # another host has no such folder
            file = Path(folder) / f"{comm.Get_rank()}.part"
            file.write_text(json.dumps([outcome.kind, outcome.sentence]), encoding="utf-8")
            file.rename(file.with_suffix(".json"))

    outcome = exercise_checks.run_on_ranks(exercise, comm, names.get(id, MISSING), seconds, tell)
    return outcome.kind, outcome.sentence


def what_was_told(folder: Path) -> tuple[int, CheckOutcome] | None:
    """The outcome of the first rank whose answer is wrong, with its number; None where there is none."""
    for file in sorted(folder.glob("*.json"), key=lambda path: int(path.stem)):
        kind, sentence = json.loads(file.read_text(encoding="utf-8"))
        return int(file.stem), CheckOutcome(kind, sentence)
    return None
