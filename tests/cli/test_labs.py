"""`workshop labs`, as authors and learners meet it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.course import labs
from workshop import registry
from workshop.cli.main import run
from workshop.core import config
from workshop.extension import Lab


@pytest.fixture
def course(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A course of one lab, in place of the real one: the folder with labs/, notebooks/ and mine/."""
    labs.small(tmp_path / "labs")
    there = (tmp_path / "labs").glob
    monkeypatch.setattr(registry, "labs", lambda: [Lab(file.parent) for file in there("*/notebook.md")])
    for name, folder in (("labs_folder", "labs"), ("notebooks_folder", "notebooks"), ("learners_folder", "mine")):
        monkeypatch.setattr(config, name, lambda folder=folder: tmp_path / folder)
    return tmp_path


def said(capsys: pytest.CaptureFixture[str], *words: object, code: int = 0) -> str:
    ended = run(["labs", *map(str, words)])
    found = capsys.readouterr()
    assert ended == code, found.err
    return found.out if code == 0 else found.err


def documented(capsys: pytest.CaptureFixture[str], *words: object, code: int = 0) -> dict:
    assert run(["labs", *map(str, words), "--json"]) == code
    return json.loads(capsys.readouterr().out)


@pytest.mark.real
def test_notebooks_are_made_and_told_stale(capsys: pytest.CaptureFixture[str], course: Path) -> None:
    assert "1-small.ipynb is missing" in said(capsys, "check", code=2)
    assert "1-small.ipynb is written" in said(capsys, "build")
    assert "2 notebooks, 0 of them new" in said(capsys, "build")
    source = course / "labs/small/notebook.md"
    source.write_text(source.read_text().replace("How much", "How many"))
    assert "not what its source makes" in said(capsys, "check", code=2)
    assert documented(capsys, "build")["written"] == ["1-small.ipynb", "solutions/1-small.ipynb"]
    assert "nothing is wrong" in said(capsys, "check")


def test_every_problem_of_a_lab_is_told(capsys: pytest.CaptureFixture[str], course: Path) -> None:
    said(capsys, "build")
    labs.small(course / "labs", "second", lab=labs.LAB.replace("number: 1", "number: 2"), checks="x = (\n")
    labs.small(course / "labs", "third", lab="number: 3\n", notebook="```python\n(\n```\n")
    problems = documented(capsys, "check", code=2)["problems"]
    assert any("second/checks.py, line 1" in told for told in problems)
    assert any("third/notebook.md, line 2" in told for told in problems)
    assert "nothing is wrong" in said(capsys, "check", "small")
    assert "did you mean small?" in said(capsys, "check", "smal", code=2)
    assert "third" in said(capsys, "build", code=2)


def test_copies(capsys: pytest.CaptureFixture[str], course: Path, tmp_path: Path) -> None:
    assert "make them with workshop labs build" in said(capsys, "copy", code=2)
    said(capsys, "build")
    assert "1-small.ipynb was copied" in said(capsys, "copy")
    mine = course / "mine"
    assert sorted(path.name for path in mine.rglob("*.*")) == [".handed-out.json", "1-small.ipynb", "add.py"]
    (mine / "1-small.ipynb").write_text("mine")
    told = documented(capsys, "copy")
    assert told["folder"] == str(mine) and [one["what"] for one in told["copies"]] == ["kept", "same"]
    assert "1-small.ipynb was copied" in said(capsys, "copy", "--again", "small")
    assert (mine / "1-small (set aside).ipynb").read_text() == "mine"
    assert "there are 1-small.ipynb" in said(capsys, "copy", "--again", "2-other.ipynb", code=2)
    assert "did you mean small?" in said(capsys, "copy", "--again", "smal", code=2)
    assert str(tmp_path / "own") in said(capsys, "copy", "--to", tmp_path / "own")
    assert "originals" in said(capsys, "copy", "--to", course / "notebooks", code=2)
