"""How long a lab takes: an estimate from its words, cells, runs and questions."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from workshop.course.source import SourceCell
from workshop.quiz.deck import Deck

READING = 160  # words a minute, of somebody who learned English at school and meets the terms for the first time
# Minutes of somebody who does it for the first time.
LINE, PREDICTION, RUN, EXERCISE = 0.08, 0.75, 0.6, 6.0
EXTRA = "(extra)"  # in a heading: the section is no part of the core
SPREAD = 0.3  # share by which people are faster or slower than the estimate

_HEADING = re.compile(r"^## +(.*\S)", re.MULTILINE)
_RUNS = re.compile(r"\bsession\.(?:run|study|tune)\(|^%%ranks", re.MULTILINE)
_PREDICTED = re.compile(r"\blab\.predict\(")


def estimate(cells: Sequence[SourceCell], deck: Deck | None) -> float:
    """The minutes that the core of a lab takes, its quiz of `deck` included."""
    minutes = sum(deck.seconds_of(question) for question in deck.brief().questions) / 60 if deck else 0.0
    return minutes + sum(_minutes(cell, text) for cell, text in _core(cells))


def _core(cells: Sequence[SourceCell]) -> Iterator[tuple[SourceCell, str]]:
    """The texts of the sections that are no extras."""
    is_extra = False
    for cell in cells:
        if cell.kind == "code":
            if not is_extra:
                yield cell, cell.text
            continue
        pieces = _HEADING.split(cell.text)
        for heading, text in zip(["", *pieces[1::2]], pieces[::2], strict=True):
            is_extra = EXTRA in heading if heading else is_extra
            if not is_extra:
                yield cell, f"{heading} {text}"


def _minutes(cell: SourceCell, text: str) -> float:
    if cell.kind == "markdown":
        return len(text.split()) / READING
    if cell.is_exercise:
        return EXERCISE
    lines = sum(bool(line.strip()) for line in text.splitlines())
    return LINE * lines + PREDICTION * len(_PREDICTED.findall(text)) + RUN * len(_RUNS.findall(text))
