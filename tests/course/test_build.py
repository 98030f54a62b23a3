"""Notebooks are made of sources: always the same, without solutions, with the files that learners need beside them."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.course import labs
from workshop.core.errors import BadInput
from workshop.course import build, notebook
from workshop.course.exercise_checks import PLACEHOLDER

LEARNERS, SOLVED = "1-small.ipynb", "solutions/1-small.ipynb"


@pytest.fixture
def course(tmp_path: Path) -> tuple[Path, Path]:
    """The folder of notebooks, and that of the labs."""
    labs.small(tmp_path / "labs")
    return tmp_path / "notebooks", tmp_path / "labs"


def test_built_notebooks(course: tuple[Path, Path]) -> None:
    notebooks, _ = course
    assert set(build.build(*course).written) == {LEARNERS, SOLVED}
    for name in (LEARNERS, SOLVED):
        document = json.loads((notebooks / name).read_text(encoding="utf-8"))
        assert (document["nbformat"], document["nbformat_minor"]) == (4, 5)
        assert document["metadata"]["kernelspec"]["name"] == "python3"
        ids = [cell["id"] for cell in document["cells"]]
        assert len(set(ids)) == len(ids)
        assert all(re.fullmatch(r"[A-Za-z0-9_-]{1,64}", id) for id in ids)
        for cell in document["cells"]:
            keys = {"cell_type", "id", "metadata", "source"}
            assert set(cell) == (keys | {"execution_count", "outputs"} if cell["cell_type"] == "code" else keys)
            if cell["cell_type"] == "code":
                assert cell["outputs"] == [] and cell["execution_count"] is None
            assert all(line.endswith("\n") for line in cell["source"][:-1])


def test_solutions_are_in_the_solutions_notebook_only(course: tuple[Path, Path]) -> None:
    build.build(*course)
    given, solved = ((course[0] / name).read_text(encoding="utf-8") for name in (LEARNERS, SOLVED))
    assert "return one + other" in solved and PLACEHOLDER not in solved
    assert "return one + other" not in given and PLACEHOLDER in given
    assert "SOLUTION" not in given + solved


def test_stale_notebooks(course: tuple[Path, Path]) -> None:
    notebooks, folder = course
    assert [line for line in build.stale(*course) if "is missing" in line] == build.stale(*course) != []
    build.build(*course)
    source = folder / "small" / "notebook.md"
    source.write_text(source.read_text().replace("How much", "How many"))
    assert ["not what its source makes" in line for line in build.stale(*course)] == [True, True]
    build.build(*course)
    (notebooks / LEARNERS).write_text((notebooks / LEARNERS).read_text().replace("How many", "How few"))
    assert ["not what its source makes" in line for line in build.stale(*course)] == [True]


def test_notebooks_of_labs_that_are_gone_are_taken_away_and_others_stay(course: tuple[Path, Path]) -> None:
    notebooks, folder = course
    labs.small(folder, "other", lab=labs.LAB.replace("number: 1", "number: 2"))
    build.build(*course)
    (notebooks / "mine.ipynb").write_text('{"metadata": {}}')
    (notebooks / "bad.ipynb").write_text("none")
    (folder / "other" / "notebook.md").unlink()
    assert sum("no lab any more" in line for line in build.stale(*course)) == 2
    assert set(build.build(*course).removed) == {"2-other.ipynb", "solutions/2-other.ipynb"}
    assert (notebooks / "mine.ipynb").exists() and (notebooks / "bad.ipynb").exists()


def test_nothing_is_written_where_a_source_is_bad(course: tuple[Path, Path]) -> None:
    notebooks, folder = course
    labs.small(folder, "bad", notebook="```python\n(\n```\n")
    labs.small(folder, "worse", lab="- x\n")
    with pytest.raises(BadInput) as raised:
        build.build(*course)
    assert "no Python" in str(raised.value) and "describes no lab" in str(raised.value)
    assert not notebooks.exists()


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("one\n[a](labs/x/a.py) and ![b](<labs/x/b.svg> 'title')", [(1, "labs/x/a.py"), (1, "labs/x/b.svg")]),
        ("[a](https://mpi-forum.org) [b](#words) [c](mailto:a@b.org) [d](//host/x)", []),
        ("`[a](b)` and\n```text\n[a](b)\n```\n[c](d%20e)", [(4, "d e")]),
        ("```text\n[a](b)", []),
    ],
)
def test_relative_links(text: str, found: list[tuple[int, str]]) -> None:
    assert list(notebook.relative(text)) == found


def test_only_a_labs_own_files_are_for_learners(tmp_path: Path) -> None:
    (tmp_path / "x").mkdir()
    (tmp_path / "secret.py").write_text("")
    for name in ("a.py", "checks.py"):
        (tmp_path / "x" / name).write_text("")
    (tmp_path / "x" / "link.py").symlink_to(tmp_path / "secret.py")
    assert notebook.file("labs/x/a.py", tmp_path) == tmp_path / "x" / "a.py"
    for link in ("a.py", "labs/x/none.py", "labs/x/checks.py", "labs/x/link.py", "labs/x/../secret.py", "/labs/x/a.py"):
        assert notebook.file(link, tmp_path) is None
        assert notebook.problem(link, tmp_path)
