"""The program of a run with the ranks at the lines where they are, for pages and terminals."""

from __future__ import annotations

import re
from collections.abc import Sequence

from workshop.core import words

PROGRAM = "program.py"  # artifact: the program as it was run
PLACE = re.compile(r"^(.+\.py):(\d+)$")


def rows(lines: Sequence[str]) -> list[list[str]]:
    """Each rank's line of a diagnosis as its number, what it does, and where."""
    cells = []
    for text in lines:
        rank, _, rest = text.removeprefix("rank ").partition("  ")
        does, _, place = rest.rpartition("  ")
        cells.append([rank, does, place] if PLACE.match(place) else [rank, rest.strip(), ""])
    return cells


def marked(program: str, states: Sequence[Sequence[str]]) -> str:
    """The program with the numbers of its lines, and the ranks behind the lines where they are."""
    ranks: dict[int, list[int]] = {}
    for rank, _, place in states:
        if at := PLACE.match(place):
            ranks.setdefault(int(at[2]), []).append(int(rank))
    lines = program.splitlines()
    return "\n".join(
        f"{'>' if number in ranks else ' '}{number:3}  {text}"
        + (f"    <-- {words.numbered('rank', ranks[number])}" if number in ranks else "")
        for number, text in enumerate(lines, 1)
    )
