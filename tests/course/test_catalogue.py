"""Labs are looked at as a whole: what every one has to have, and what belongs together."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.course import labs
from workshop.course import catalogue

TWO = "{id: two, question: How many, unit: times}"


def told(folder: Path) -> str:
    return "\n".join(catalogue.problems(folder))


@pytest.mark.parametrize(
    ("file", "old", "new", "said"),
    [
        ("notebook", "# Lab 1: Small things", "# Lab 1: Large things", "title should have the words"),
        ("notebook", "## Words", "## Terms", "no section 'Words'"),
        ("notebook", "## Goal", "## What to take home", "no section 'Goal'"),
        ("notebook", "Add two numbers.", "Add.\n\n\n" * 30, "at most 28"),
        ("notebook", "Add two numbers.", "Add $$a\n+ b$$.", "on one line"),
        ("notebook", "labs/small/add.py", "labs/small/checks.py", "what learners don't get"),
        ("notebook", "labs/small/add.py", "labs/../small/add.py", "leads nowhere"),
        ("notebook", 'lab.check("total"', 'lab.check("sum"', "no cell checks the exercise 'total'"),
        ("notebook", "%%ranks\nprint(rank)", 'lab.predict("two", 1)', "'two' should have its question in lab.yaml"),
        ("lab", "deck: small", f"predictions: [{TWO}]\ndeck: small", "no cell asks for the prediction 'two'"),
        ("lab", "deck: small", "deck: large", "there is no deck 'large'"),
        ("checks", '@exercise("total")', '@exercise("sum")', "has nothing for the exercise 'total'"),
        ("mistakes", "    ]", "    ][:2]", "has 2 mistakes"),
    ],
)
def test_what_is_wrong(tmp_path: Path, file: str, old: str, new: str, said: str) -> None:
    texts = {"notebook": labs.NOTEBOOK, "lab": labs.LAB, "checks": labs.CHECKS, "mistakes": labs.MISTAKES}
    assert old in texts[file]
    labs.small(tmp_path, **{file: texts[file].replace(old, new)})
    assert said in told(tmp_path)


def test_two_labs_of_one_number_and_missing_files(tmp_path: Path) -> None:
    labs.small(tmp_path)
    second = labs.small(tmp_path, "second")
    (second / "runsheet.md").unlink()
    assert "number 1 is that of another lab" in told(tmp_path)
    assert "runsheet.md is missing" in told(tmp_path)


def test_order_of_the_course(tmp_path: Path) -> None:
    labs.small(tmp_path, "first", lab=labs.LAB.replace("number: 1", "number: 2"))
    labs.small(tmp_path, "second")
    labs.small(tmp_path, "bad", lab="[")
    assert [folder.name for folder in catalogue.folders(tmp_path)] == ["second", "first", "bad"]
