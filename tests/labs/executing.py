"""Notebooks that run from the first cell to the last in a real kernel, as a learner would run them."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

from tests.support import limit
from workshop.core import config
from workshop.course import build, catalogue, description

CELL = 300  # seconds that a cell may take, on a machine that does much else
MEANT = "raises-exception"  # the tag of a cell that is meant to fail
_CHECK = re.compile(r"\blab\.check\(\s*[\"'](\w+)[\"']")
_ANSI = re.compile(r"\x1b\[[0-9;]*m")


@dataclass
class Executed:
    """A notebook after it ran."""

    cells: list[Any]
    seconds: float

    @property
    def errors(self) -> list[str]:
        """What cells raised that aren't meant to, and cells that should have raised and haven't."""
        told = []
        for number, cell in enumerate(self.cells):
            raised = [one for one in cell.outputs if one.output_type == "error"]
            meant = MEANT in cell.metadata.get("tags", [])
            if raised and not meant:
                told.append(f"cell {number} ({cell.source[:60]!r}): {_words(raised[0])}")
            elif meant and not raised:
                told.append(f"cell {number} ({cell.source[:60]!r}) is meant to fail")
        return told

    @property
    def checks(self) -> Mapping[str, str]:
        """What came of each check, by the exercise's id."""
        return {id: shown(cell) for cell in self.cells for id in _CHECK.findall(cell.source)}

    @property
    def text(self) -> str:
        return "\n".join(shown(cell) for cell in self.cells)


def execute(notebook: Path, folder: Path, cell: int = CELL) -> Executed:
    """Run all cells of a notebook in a kernel that works in `folder`, also those behind one that fails."""
    document = nbformat.read(notebook, as_version=4)
    client = NotebookClient(
        document,
        timeout=int(limit(cell)),
        startup_timeout=int(limit(120)),
        kernel_name="python3",
        allow_errors=True,
        resources={"metadata": {"path": str(folder)}},
    )
    began = time.monotonic()
    client.execute()
    found = [cell for cell in document.cells if cell.cell_type == "code"]
    return Executed(found, time.monotonic() - began)


def shown(cell: Any) -> str:
    """What a cell shows, as words."""
    return "\n".join(_words(output) for output in cell.outputs)


def _words(output: Any) -> str:
    if output.output_type == "stream":
        return output.text
    if output.output_type == "error":
        return _ANSI.sub("", "\n".join(output.traceback)) or f"{output.ename}: {output.evalue}"
    return output.get("data", {}).get("text/plain", "")


def notebook(folder: Path, solutions: bool = False) -> Path:
    """The notebook of a lab's folder, as learners get it or with its solutions."""
    there = config.notebooks_folder() / build.SOLUTIONS if solutions else config.notebooks_folder()
    return there / catalogue.file_name(description.read(folder), folder)
