"""Makes a notebook from a lab's source: for learners without solutions, for instructors and CI with them.

The same source always gives the same bytes. Ids of cells come from the lab and the cell's place, outputs are empty, and
no version is written except the format's.
"""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING, Any

from workshop.core.errors import BadInput
from workshop.course import source
from workshop.course.description import LabDescription

if TYPE_CHECKING:
    from nbformat import NotebookNode

MARK = "workshop"  # metadata by which generated notebooks are known
COMMAND = "workshop labs build"
_ID = re.compile(r"[^A-Za-z0-9_-]+")


def make(text: str, lab: LabDescription, name: str, solutions: bool = False) -> NotebookNode:
    """The notebook of a lab's source. `name` is the lab's folder. Raises BadInput."""
    import nbformat  # takes a second, as in `source`

    cells = source.parse(text, f"{name}/{source.FILE}")
    notebook = nbformat.from_dict(
        {
            "cells": [_cell(cell, f"{_ID.sub('-', name)[:50]}-{at:02}", solutions) for at, cell in enumerate(cells)],
            "metadata": {
                "kernelspec": {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"},
                "language_info": {"name": "python"},
                MARK: {
                    "generated": COMMAND,
                    "lab": name,
                    "solutions": solutions,
                    "source": f"labs/{name}/{source.FILE}",
                    "sha256": digest(text),
                    "title": lab.title,
                },
            },
            "nbformat": 4,
            "nbformat_minor": 5,
        }
    )
    try:
        nbformat.validate(notebook)
    except nbformat.ValidationError as error:
        raise BadInput(f"{name}/{source.FILE} makes no notebook: {str(error).partition(chr(10))[0]}.") from None
    return notebook


def _cell(cell: source.SourceCell, id: str, solutions: bool) -> dict[str, Any]:
    cell_node = {"cell_type": cell.kind, "id": id, "metadata": dict(cell.metadata), "source": cell.text}
    if cell.kind == "code":
        cell_node |= {"execution_count": None, "outputs": [], "source": cell.solved if solutions else cell.unsolved}
    return cell_node


def dumped(notebook: NotebookNode) -> str:
    """A notebook as Jupyter writes it."""
    import nbformat

    return nbformat.writes(notebook, version=nbformat.NO_CONVERT) + "\n"


def digest(text: str) -> str:
    """By which a notebook knows its source."""
    return hashlib.sha256(text.encode()).hexdigest()
