"""lab.yaml: what it says, and what is wrong with it, by line."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.course import labs
from workshop.core.errors import BadInput
from workshop.course import description
from workshop.course.source import BadSource

ASKED = "{id: two, question: How many, unit: times}"


def test_a_lab(tmp_path: Path) -> None:
    lab = description.read(labs.small(tmp_path))
    assert (lab.number, lab.title, lab.minutes, lab.deck) == (1, "Small things", 20, "small")
    assert lab.steps == (description.LabStep(name="All of it", minutes=20),)
    assert lab.exercises == ("total",)


@pytest.mark.parametrize(
    ("change", "line", "said"),
    [
        (("minutes: 20\n", "minutes: 60\n"), 3, "at most 45"),
        (("minutes: 20\n", "minutes: 25\n"), 3, "take 20 together"),
        (("[total]", "[to-tal]"), 8, "like 'to_tal'"),
        (("deck: small", "predictions: [{id: a, question: b, unit: s, uni: s}]\ndeck: small"), 9, "did you mean unit?"),
        (("deck: small", f"predictions: [{ASKED}, {ASKED}]\ndeck: small"), 9, "'two' is there twice"),
        (("deck: small", "deck: small\ndeck: other"), 10, "there twice"),
        (("deck: small", "deck: ["), None, "no YAML"),
    ],
)
def test_problems_by_line(change: tuple[str, str], line: int | None, said: str) -> None:
    with pytest.raises(BadSource) as raised:
        description.parse(labs.LAB.replace(*change))
    found = [(problem.line, problem.text) for problem in raised.value.problems]
    assert any(said in text and line in (None, where) for where, text in found), found


def test_no_file(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="can't be read"):
        description.read(tmp_path)
