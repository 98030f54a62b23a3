"""Further notebooks: their labs lead to them, they have no exercises, and all of their cells run."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import leftovers
from tests.labs.executing import execute
from tests.labs.exercises import LABS
from tests.support import limit, until
from workshop.core import config
from workshop.course import catalogue, description, source

ENDS = 30.0  # seconds within which a kernel's sessions have ended after it
FURTHER = [path for folder in LABS.values() for path in source.further(folder)]
each_further = pytest.mark.parametrize("path", FURTHER, ids=lambda path: f"{path.parents[1].name}-{path.stem}")


def notebook_of(path: Path) -> str:
    """The file name of a further notebook."""
    folder = path.parents[1]
    return catalogue.file_name(description.read(folder), folder, path.stem)


@each_further
def test_its_lab_leads_to_it(path: Path) -> None:
    assert f"]({notebook_of(path)})" in (path.parents[1] / source.FILE).read_text(encoding="utf-8")
    cells = source.read(path)
    assert not any(cell.is_exercise for cell in cells) and cells[0].text.startswith("# ")
    assert (config.notebooks_folder() / notebook_of(path)).is_file()


@each_further
@pytest.mark.real
@pytest.mark.exhaustive
@pytest.mark.timeout(limit(900))
def test_all_cells_run(path: Path, workshop_home: Path, tmp_path: Path) -> None:
    assert execute(config.notebooks_folder() / notebook_of(path), tmp_path).errors == []
    until(lambda: not leftovers(workshop_home), ENDS, "the notebook's sessions to end")
