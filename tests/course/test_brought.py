"""Labs that other packages bring are handed out like our own, and a broken one keeps nobody from the others."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.course import labs
from workshop import registry
from workshop.cli.main import run
from workshop.core import config
from workshop.core.errors import BadInput
from workshop.course import build, catalogue, class_progress, copies, notebook
from workshop.course.class_progress import outlines
from workshop.extension import Decks, Lab
from workshop.notebook.jupyter.extension import labs as tiles


@pytest.fixture
def brought(tmp_path: Path, workshop_home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """One lab of our own, whose notebook is built, one of a package, and two broken ones; the package's folder."""
    own = labs.small(tmp_path / "labs", "own", notebook=labs.NOTEBOOK.replace("labs/small", "labs/own"))
    package = tmp_path / "package"
    theirs = labs.small(package, "small", lab=labs.LAB.replace("number: 1", "number: 7"))
    nothing = labs.small(package, "nothing", lab="[")
    unreadable = labs.small(package, "unreadable", notebook="```python\n(\n```\n")
    monkeypatch.setattr(registry, "labs", lambda: [Lab(folder) for folder in (own, nothing, unreadable, theirs)])
    monkeypatch.setattr(config, "labs_folder", lambda: tmp_path / "labs")
    monkeypatch.setattr(config, "notebooks_folder", lambda: tmp_path / "notebooks")
    build.build(config.notebooks_folder())
    return package


def test_learners_get_them_with_their_files(brought: Path, tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    given = copies.hand_out(config.notebooks_folder(), mine)
    assert {copied.name for copied in given} == {
        *("1-own.ipynb", "7-small.ipynb", "labs/own/add.py", "labs/small/add.py")
    }
    assert "BEGIN SOLUTION" not in (mine / "7-small.ipynb").read_text()
    (mine / "7-small.ipynb").write_text("mine")
    assert copies.copy_again(config.notebooks_folder(), mine, "7-small.ipynb").aside == "7-small (set aside).ipynb"
    assert copies.linked(config.notebooks_folder(), "7-small.ipynb", "small") == ["labs/small/add.py"]
    assert [tile["path"] for tile in tiles(mine)] == ["1-own.ipynb", "7-small.ipynb"]


def test_their_notebooks_are_no_files_of_ours(brought: Path, tmp_path: Path) -> None:
    built = sorted(path.name for path in config.notebooks_folder().rglob("*.ipynb"))
    assert built == ["1-own.ipynb", "1-own.ipynb"], "for learners, and with solutions"
    assert build.stale(config.notebooks_folder()) == []


def test_everybody_finds_them_by_name(brought: Path) -> None:
    assert catalogue.find("small") == brought / "small"
    with pytest.raises(BadInput, match="did you mean small"):
        catalogue.find("smal")
    assert notebook.file("labs/small/add.py") == brought / "small" / "add.py"
    assert notebook.file("labs/small/checks.py") is None
    assert notebook.file("labs/other/add.py") is None
    found, problems = outlines()
    assert {"own", "small"} <= {outline.name for outline in found}
    assert len(problems) == 1
    assert "nothing" in problems[0]
    assert class_progress._notebooks("small") == {"7-small.ipynb": "small"}


def test_the_list_names_the_broken_one(brought: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["labs", "list", "--json"]) == 0
    told = capsys.readouterr()
    notebooks = {lab["name"]: lab["notebook"] for lab in json.loads(told.out)}
    assert notebooks["own"].endswith("1-own.ipynb")
    assert notebooks["small"] is None
    assert "nothing/lab.yaml" in told.err
    assert run(["labs", "check", "small"]) == 0
    assert run(["labs", "check", "nothing", "unreadable"]) == 2
    assert "unreadable/notebook.md, line 2" in capsys.readouterr().err


def test_a_lab_whose_deck_another_package_brings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    labs.small(tmp_path, lab=labs.LAB.replace("deck: small", "deck: numbers"))
    text = (tmp_path / "small" / "notebook.md").read_text()
    (tmp_path / "small" / "notebook.md").write_text(text.replace('quiz("small")', 'quiz("numbers")'))
    assert "there is no deck 'numbers'" in "\n".join(catalogue.problems(tmp_path))
    deck = tmp_path / "elsewhere" / "numbers" / "quiz.yaml"
    deck.parent.mkdir(parents=True)
    deck.write_text("deck: numbers\n")
    monkeypatch.setattr(registry, "decks", lambda: [Decks(tmp_path / "elsewhere")])
    monkeypatch.setattr("workshop.quiz.reader.decks", registry.decks)
    assert catalogue.problems(tmp_path) == []
