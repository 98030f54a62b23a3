"""Grades of learners as a CSV file for the gradebook of a learning platform.

Learners have nicknames only. A platform assigns a grade to the user whose name stands in the column `Username` (Moodle)
or `SIS Login ID` (Canvas); where nicknames are no such names, the instructor writes them into this column before the
import.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, get_args

from workshop.core import words
from workshop.core.errors import BadInput
from workshop.quiz.results.findings import RoundFindings
from workshop.quiz.results.spreadsheets import Row, table_csv

Kind = Literal["moodle", "canvas", "csv"]
TITLES: dict[Kind, str] = {"moodle": "Grades for Moodle", "canvas": "Grades for Canvas", "csv": "Grades as CSV"}
DIGITS = 5  # of a score behind the point, as many as Moodle keeps
CANVAS = ("Student", "ID", "SIS User ID", "SIS Login ID", "Section")  # the columns before the grades


@dataclass(frozen=True)
class Gradebook:
    """The grades of one activity: each learner with a score, and the score that is possible."""

    activity: str
    scores: tuple[tuple[str, float], ...]  # by learner
    maximum: float

    @property
    def rows(self) -> list[Row]:
        """The table of all three files: learner, score, maximum."""
        return [
            {"learner": learner, "score": round(score, DIGITS), "maximum": self.maximum}
            for learner, score in self.scores
        ]

    def write(self, kind: str) -> bytes:
        """The table as a file of this kind. Raises BadInput for an unknown kind."""
        match kind:
            case "csv":
                return table_csv(self.rows, ("learner", "score", "maximum"))
            case "moodle":
                rows = [
                    {"Username": row["learner"], self.activity: row["score"], "Maximum grade": row["maximum"]}
                    for row in self.rows
                ]
                return table_csv(rows, ("Username", self.activity, "Maximum grade"))
            case "canvas":
                points: Row = {"Student": "Points Possible", self.activity: self.maximum}
                grades = [
                    {"Student": row["learner"], "SIS Login ID": row["learner"], self.activity: row["score"]}
                    for row in self.rows
                ]
                return table_csv([points, *grades], (*CANVAS, self.activity))
        raise BadInput(f"There is no gradebook {kind[:40]!r}; there are {words.listed(get_args(Kind))}.")


def of_round(findings: RoundFindings) -> Gradebook:
    """The grades of a round: points without a bonus for speed. A question that a learner missed gives 0."""
    scores: Iterable[tuple[str, float]] = ((learner.nickname, learner.marks) for learner in findings.learners)
    return Gradebook(findings.results.title, tuple(scores), findings.maximum)
