"""Grades as files for gradebooks."""

from __future__ import annotations

import csv
import io
from dataclasses import replace
from typing import get_args

import pytest

from tests.quiz.results.rounds import DECK, made
from workshop.core.errors import BadInput
from workshop.quiz.results.findings import find
from workshop.quiz.results.spreadsheets import Gradebook, Kind, of_round

GRADES = Gradebook("Ranks, first", (("Ada", 2.5000000001), ("=Zoë", 0.0)), 4.0)


def table(kind: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(GRADES.write(kind).decode("utf-8-sig"), newline="")))


def test_each_gradebook_has_its_columns() -> None:
    assert table("csv") == [["learner", "score", "maximum"], ["Ada", "2.5", "4.0"], ["'=Zoë", "0.0", "4.0"]]
    assert table("moodle") == [
        ["Username", "Ranks, first", "Maximum grade"],
        ["Ada", "2.5", "4.0"],
        ["'=Zoë", "0.0", "4.0"],
    ]
    assert table("canvas") == [
        ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", "Ranks, first"],
        ["Points Possible", "", "", "", "", "4.0"],
        ["Ada", "", "", "Ada", "", "2.5"],
        ["'=Zoë", "", "", "'=Zoë", "", "0.0"],
    ]
    with pytest.raises(BadInput, match="no gradebook 'ilias'; there are moodle, canvas and csv"):
        GRADES.write("ilias")


@pytest.mark.parametrize("kind", get_args(Kind))
def test_nobody_is_a_file_too(kind: Kind) -> None:
    assert Gradebook("Labs", (), 0.0).write(kind).strip()


def test_a_round_is_graded_without_a_bonus_and_alike_for_all() -> None:
    played = made(DECK, [{"world": 0, "like": 1}, {"world": 0, "sum": 16.0}])
    quick = replace(played, answers=tuple(replace(one, points=9.0) for one in played.answers))
    late = replace(quick, absent={"sum": frozenset({1})})
    assert of_round(find(late)) == Gradebook(played.title, (("learner 1", 1.0), ("learner 2", 3.0)), 7.0)
