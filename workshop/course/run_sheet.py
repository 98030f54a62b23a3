"""A lab's run sheet: what its instructor shows and says, minute by minute."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from workshop.core.errors import BadInput

FILE = "runsheet.md"
COLUMNS = ("from", "min", "part", "step", "show", "say")
_QUIZ = re.compile(r"workshop quiz host (\S+?)`")
_EXERCISE = re.compile(r"\bExercises? ([0-9]+)")


@dataclass(frozen=True)
class RunSheetStep:
    """A row of the run sheet. `start` is in minutes after the lab's beginning; `part` counts its sections from 1."""

    start: int
    minutes: int
    part: int
    title: str
    show: str  # Markdown, as is `say`
    say: str

    @property
    def deck(self) -> str:
        """The deck of the quiz that is hosted; "" where it is none."""
        match = _QUIZ.search(self.show)
        return match[1] if match else ""

    @property
    def exercise(self) -> int | None:
        """The number of the step's exercise, from 1."""
        match = _EXERCISE.match(self.title)
        return int(match[1]) if match else None


def read(folder: Path) -> tuple[RunSheetStep, ...]:
    """The steps of the run sheet of a lab's folder. Raises BadInput with the line that can't be read."""
    path, steps = folder / FILE, []
    inside = False
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if inside and not line.startswith("|"):
            break
        if tuple(cells) == COLUMNS:
            inside = True
        elif inside and not cells[0].startswith("---"):
            try:
                start, minutes, part, title, show, say = cells
                steps.append(RunSheetStep(int(start), int(minutes), int(part), title, show, say))
            except ValueError:
                raise BadInput(f"{path}, line {number}: a row has the cells {' | '.join(COLUMNS)}.") from None
    if not steps:
        raise BadInput(f"{path} has no table with the columns {' | '.join(COLUMNS)}.")
    return tuple(steps)
