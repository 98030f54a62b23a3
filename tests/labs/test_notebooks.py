"""Notebooks and run sheets: the commands that they name are there, and so are the runs and questions; notebooks are
what their sources say, and every solution runs from its first cell to its last."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import leftovers
from tests.labs.executing import execute, notebook
from tests.labs.exercises import LABS
from tests.support import limit, until
from workshop.core import config
from workshop.core.placement import Placement
from workshop.course import build, copies, description, source
from workshop.quiz import reader
from workshop.registry import workloads

each_lab = pytest.mark.parametrize("lab", LABS)


def calls(lab: str) -> Iterator[tuple[str, ast.Call]]:
    """Calls of the session's and the lab's methods in a notebook, with the methods' names."""
    for cell in source.read(LABS[lab] / source.FILE):
        if cell.kind != "code" or cell.text.startswith("%%"):
            continue
        lines = ["" if line.lstrip().startswith(("%", "!")) else line for line in cell.solved.split("\n")]
        for node in ast.walk(ast.parse("\n".join(lines))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                yield node.func.attr, node


@each_lab
def test_runs_have_settings_that_there_are(lab: str) -> None:
    for name, call in calls(lab):
        if name == "run" and call.args and isinstance(call.args[0], ast.Constant):
            params = workloads()[call.args[0].value].params.model_fields
            given = {keyword.arg for keyword in call.keywords if keyword.arg}
            assert given <= {*params, *Placement.model_fields}, ast.unparse(call)


@each_lab
def test_what_is_measured_was_guessed(lab: str) -> None:
    named: dict[str, set[str]] = {"predict": set(), "measured": set()}
    for name, call in calls(lab):
        if name in named and call.args and isinstance(call.args[0], ast.Constant):  # else it is in a loop
            named[name].add(call.args[0].value)
    assert named["measured"] <= named["predict"]


@each_lab
def test_questions_that_a_run_sheet_names_are_in_its_deck(lab: str) -> None:
    text = (LABS[lab] / "runsheet.md").read_text(encoding="utf-8")
    part = re.split(r"^#+ .*[Qq]uiz.*$", text, maxsplit=1, flags=re.MULTILINE)[-1].split("\n## ")[0]
    known = {question.id for question in reader.read(LABS[lab] / reader.FILE).questions}
    named = {name for name in re.findall(r"`([a-z]+(?:-[a-z0-9]+)+)`", part)}
    assert named <= known, named - known


ENDS = 30.0  # seconds within which a kernel's sessions have ended after it


def test_notebooks_are_as_their_sources_say() -> None:
    assert build.stale(config.notebooks_folder()) == []


@pytest.mark.real
@pytest.mark.timeout(limit(600))
def test_learners_who_fill_in_nothing_come_to_the_end(tmp_path: Path, workshop_home: Path) -> None:
    """Also where exercises are on ranks: every check says so, and no other cell fails for it."""
    done = execute(notebook(LABS["first"]), tmp_path)
    assert done.errors == []
    assert list(done.checks) == list(description.read(LABS["first"]).exercises)
    for id, said in done.checks.items():
        assert f"{id} is empty. Nothing is there yet" in said
    until(lambda: not leftovers(workshop_home), ENDS, "the notebook's sessions to end")


@pytest.mark.real
@pytest.mark.timeout(limit(900))
@pytest.mark.parametrize(
    "lab", [pytest.param(lab, marks=[] if lab == "first" else [pytest.mark.exhaustive]) for lab in LABS]
)
def test_solutions_run(lab: str, tmp_path: Path, workshop_home: Path) -> None:
    mine = tmp_path / "mine"
    copies.hand_out(config.notebooks_folder(), mine)
    done = execute(notebook(LABS[lab], solutions=True), mine)
    print(f"lab {lab}: {done.seconds:.0f} s, {len(done.cells)} cells")
    assert done.errors == []
    assert list(done.checks) == list(description.read(LABS[lab]).exercises)
    for id, said in done.checks.items():
        assert f"{id} is right." in said
    until(lambda: not leftovers(workshop_home), ENDS, "the notebook's sessions to end")
