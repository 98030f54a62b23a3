"""Makes a notebook from a lab's source: for learners without solutions, for instructors and CI with them.

The same source always gives the same bytes. Ids of cells come from the lab and the cell's place, outputs are empty, and
no version is written except the format's.

Links of a notebook to files of a lab, which learners get with it as labs/<lab>/<file>.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from workshop import registry
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


FOLDER = "labs"  # beside the notebooks
INSTRUCTORS_FILES = ("lab.yaml", "notebook.md", "checks.py", "mistakes.py", "runsheet.md", "quiz.yaml")
_LINK = re.compile(r"\]\(\s*<?([^)\s>]+)[^)]*\)")
_CODE = re.compile(r"(?ms)^ {0,3}(```+|~~~+).*?(?:^ {0,3}\1\s*$|\Z)|`[^`\n]+`")


def relative(text: str) -> Iterator[tuple[int, str]]:
    """The relative links in a Markdown text, with their lines from 0."""
    without_code = _CODE.sub(lambda code: re.sub(r"[^\n]", " ", code[0]), text)
    for link in _LINK.finditer(without_code):
        parts = urlsplit(link[1])
        if not parts.scheme and not parts.netloc and parts.path:
            yield without_code.count("\n", 0, link.start()), unquote(parts.path)


def problem(link: str, labs: Path | None = None) -> str | None:
    """Why learners can't follow a relative link, without a full stop; None where they can. See `file` for `labs`."""
    if file(link, labs) is not None:
        return None
    if PurePosixPath(link).name in INSTRUCTORS_FILES and PurePosixPath(link).parts[:1] == (FOLDER,):
        return f"the link {link} leads to what learners don't get"
    return f"the link {link} leads nowhere; a file of a lab is linked to as {FOLDER}/<lab>/<file>"


def file(link: str, labs: Path | None = None) -> Path | None:
    """The file behind a link `labs/<lab>/<file>`; None where learners don't get it. The lab is in the folder `labs`, or
    is any lab of an extension."""
    parts = PurePosixPath(link).parts
    if len(parts) != 3 or parts[0] != FOLDER or ".." in parts or parts[2] in INSTRUCTORS_FILES:
        return None
    folders = {lab.name: lab.folder for lab in registry.labs()} if labs is None else {parts[1]: labs / parts[1]}
    path = folders[parts[1]] / parts[2] if parts[1] in folders else None
    return path if path is not None and path.is_file() and not path.is_symlink() else None
