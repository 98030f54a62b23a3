"""A round as three tables: questions, learners, answers. Cells are text, numbers or nothing, the same in CSV and XLSX.

What people typed may begin like a formula, and spreadsheets compute those. Such cells get an apostrophe in front (OWASP
Application Security Verification Standard 5.0, requirement 1.2.10); numbers stay numbers, also negative ones.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from workshop.quiz.results.answer_choices import given
from workshop.quiz.results.findings import RoundFindings
from workshop.quiz.results.items import Item
from workshop.quiz.results.learners import LearnerResult

Cell = str | int | float | None

FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")  # full-width ones are read as the others
LONGEST = 16_000  # characters; a spreadsheet's cell holds 32,767 code units
# What XML can't hold, so that a spreadsheet can't either.
_UNHOLDABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


@dataclass(frozen=True)
class Table:
    name: str
    headings: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]


def tables(found: RoundFindings) -> tuple[Table, Table, Table]:
    """Questions, learners and answers."""
    return questions(found), learners(found), answers(found)


def questions(found: RoundFindings) -> Table:
    reasons = {one.id: " ".join(reason.words for reason in one.reasons) for one in found.again}
    return _table("Questions", _QUESTIONS, [(*_question(item), reasons.get(item.id)) for item in found.items])


def learners(found: RoundFindings) -> Table:
    tags = tuple(dict.fromkeys(tag.name for one in found.learners for tag in one.tags))
    rows = [(*_learner(one), *_tags(one, tags)) for one in found.learners]
    return _table("Learners", (*_LEARNERS, *(f"marks on {tag}" for tag in tags)), rows)


def answers(found: RoundFindings) -> Table:
    """A row for each learner and question, also where there is no answer."""
    results = found.results
    rows: list[tuple[Cell, ...]] = []
    for player in results.players:
        theirs = results.by(player.id)
        for item, question in zip(found.items, results.questions, strict=True):
            one = theirs.get(item.id)
            first: tuple[Cell, ...] = (player.nickname, item.number, item.id, item.type, item.text)
            if one is None:
                status = "missed" if player.id in results.there(item.id) else "not there"
                rows.append((*first, status, *[None] * (len(_ANSWERS) - len(first) - 1)))
            else:
                what = given(results, question, one.answer)
                marks = (_yes(one.right), one.share, one.points, item.worth, one.seconds)
                near = None if one.near is None else one.near + 1
                rows.append((*first, "answered", what, *marks, near))
    return _table("Answers", _ANSWERS, rows)


def safe(cell: Cell) -> Cell:
    """A cell that no spreadsheet computes, and that any can hold."""
    if not isinstance(cell, str):
        return cell
    text = _UNHOLDABLE.sub("\ufffd", cell)
    text = text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"
    return f"'{text}" if text.startswith(FORMULA) else text


_QUESTIONS = (
    *("number", "question", "type", "text", "tags", "points possible", "there", "answered", "judged", "right"),
    *("share right", "95 % from", "95 % to", "mean mark", "mean points"),
    *("seconds, lower quartile", "seconds, median", "seconds, upper quartile"),
    *("discrimination", "answers behind it", "discrimination in words", "remarks", "why to go over it again"),
)
_LEARNERS = (
    *("learner", "place", "points", "points possible", "share of marks", "questions", "answered", "right"),
    *("seconds, median", "seconds, total", "wrong", "missed", "before they came"),
)
_ANSWERS = (
    *("learner", "number", "question", "type", "text", "status", "answer", "right", "share", "points"),
    *("points possible", "seconds", "misconception"),
)


def _question(item: Item) -> tuple[Cell, ...]:
    low, high = item.interval or (None, None)
    times = item.seconds
    quartiles = (times.low, times.median, times.high) if times else (None, None, None)
    told = item.discrimination
    counts = (item.worth, item.there, item.answered, item.judged, item.right)
    return (
        *(item.number, item.id, item.type, item.text, ", ".join(item.tags), *counts),
        *(item.share, low, high, item.mark, item.points, *quartiles),
        *(told.value, told.of, told.words, " ".join(item.remarks)),
    )


def _learner(one: LearnerResult) -> tuple[Cell, ...]:
    lists = (", ".join(one.wrong), ", ".join(one.missed), ", ".join(one.late))
    counts = (one.place, one.points, one.possible, one.share, one.there, one.answered, one.right)
    return (one.nickname, *counts, one.seconds, one.total, *lists)


def _tags(one: LearnerResult, names: Sequence[str]) -> tuple[Cell, ...]:
    marks = {tag.name: tag.mark for tag in one.tags}
    return tuple(marks.get(name) for name in names)


def _yes(right: bool | None) -> Cell:
    return None if right is None else "yes" if right else "no"


def _table(name: str, headings: Sequence[str], rows: Sequence[Sequence[Cell]]) -> Table:
    return Table(name, tuple(str(safe(one)) for one in headings), tuple(tuple(map(safe, row)) for row in rows))
