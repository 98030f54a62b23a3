"""Makes a notebook from a lab's source: for learners without solutions, for instructors and CI with them. Checks its
links to files of a lab, which learners get with it as labs/<lab>/<file>, its title and its sections.

The same source always gives the same bytes. Ids of cells come from the lab and the cell's place, outputs are empty, and
no version is written except the format's.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from workshop import registry
from workshop.core import config
from workshop.core.errors import BadInput
from workshop.course import source
from workshop.course.description import LabDescription
from workshop.course.source import FILE, SourceCell, SourceProblem, text_of

if TYPE_CHECKING:
    from nbformat import NotebookNode

MARK = "workshop"  # metadata by which generated notebooks are known
COMMAND = "workshop labs build"
_ID = re.compile(r"[^A-Za-z0-9_-]+")


def make(text: str, lab: LabDescription, name: str, solutions: bool = False, file: str = source.FILE) -> NotebookNode:
    """The notebook of a source. `name` is the lab's folder, `file` the source's path in it. Raises BadInput."""
    import nbformat  # takes a second, as in `source`

    cells = source.parse(text, f"{name}/{file}")
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
                    "source": f"labs/{name}/{file}",
                    "sha256": hashlib.sha256(text.encode()).hexdigest(),
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
        raise BadInput(f"{name}/{file} makes no notebook: {str(error).partition(chr(10))[0]}.") from None
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
    if file(link, labs) is not None or _further(link, labs or config.labs_folder()):
        return None
    if PurePosixPath(link).name in INSTRUCTORS_FILES and PurePosixPath(link).parts[:1] == (FOLDER,):
        return f"the link {link} leads to what learners don't get"
    return f"the link {link} leads nowhere; a file of a lab is linked to as {FOLDER}/<lab>/<file>"


def _further(link: str, labs: Path) -> bool:
    """Whether a link leads to a further notebook, such as 0-first-primer.ipynb."""
    parts = link.removesuffix(".ipynb").split("-", 2)
    return len(parts) == 3 and (labs / parts[1] / source.FURTHER / f"{parts[2]}.md").is_file()


def file(link: str, labs: Path | None = None) -> Path | None:
    """The file behind a link `labs/<lab>/<file>`; None where learners don't get it. The lab is in the folder `labs`, or
    is any lab of an extension."""
    parts = PurePosixPath(link).parts
    if len(parts) != 3 or parts[0] != FOLDER or ".." in parts or parts[2] in INSTRUCTORS_FILES:
        return None
    folders = {lab.name: lab.folder for lab in registry.labs()} if labs is None else {parts[1]: labs / parts[1]}
    path = folders[parts[1]] / parts[2] if parts[1] in folders else None
    return path if path is not None and path.is_file() and not path.is_symlink() else None


CELLS = 28  # at most
SECTIONS = ("Goal", "Words", "Quiz", "What to take home")  # in this order
STEPS = ("Predict", "Run", "See", "Explain")
_HEADING = re.compile(r"(#{1,6})\s+(.*\S)\s*")
_CHECKED = re.compile(r"\blab\.check\(\s*[\"']([^\"']+)[\"']")
_PREDICTED = re.compile(r"\blab\.predict\(\s*[\"']([^\"']+)[\"']")
_QUIZ = re.compile(r"\.quiz\(\s*[\"']([^\"']+)[\"']")


def problems(cells: Sequence[SourceCell], lab: LabDescription) -> Iterator[SourceProblem]:
    """The faults of a notebook with these cells."""
    if len(cells) > CELLS:
        yield SourceProblem(cells[CELLS].line, f"there are {len(cells)} cells; a notebook has at most {CELLS}")
    if not cells or cells[0].kind != "markdown" or not cells[0].text.startswith("# "):
        yield SourceProblem(1, "the first cell should begin with the title: # ...")
    headings = list(_headings(cells))
    if headings and lab.title.lower() not in headings[0][1].lower():
        yield SourceProblem(headings[0][0], f"the title should have the words of lab.yaml: {lab.title}")
    yield from _order(headings[1:])
    yield from _exercises(cells, lab)
    texts = [cell for cell in cells if cell.kind == "markdown"]
    for name in STEPS:  # each experiment is predicted, run, seen and explained
        step = re.compile(rf"^#+ {name}\b|\*\*{name}\b", re.MULTILINE | re.IGNORECASE)
        if not any(step.search(cell.text) for cell in texts):
            yield SourceProblem(None, f"nothing begins with {name!r}, as a heading or in bold")
    for cell in texts:
        for line, text in enumerate(cell.text.split("\n"), cell.line):
            if text.count("$$") % 2:  # the dashboard shows the text of such a formula
                yield SourceProblem(line, "a formula between $$ should begin and end on one line")
    described = {prediction.id for prediction in lab.predictions}
    guessed = _named(cells, _PREDICTED)
    for id in guessed.keys() - described:
        yield SourceProblem(guessed[id], f"the prediction {id!r} should have its question in lab.yaml")
    for id in described - guessed.keys():
        yield SourceProblem(None, f'no cell asks for the prediction {id!r} of lab.yaml: lab.predict("{id}", ...)')
    if lab.deck not in _named(cells, _QUIZ):
        yield SourceProblem(None, f'no cell shows the quiz: session.quiz("{lab.deck}")')


def _named(cells: Sequence[SourceCell], pattern: re.Pattern[str]) -> dict[str, int]:
    """The names that a pattern finds in code, each with the line of its first cell."""
    code = [cell for cell in cells if cell.kind == "code"]
    return {name: cell.line for cell in reversed(code) for name in pattern.findall(cell.text)}


def predicted(folder: Path) -> tuple[str, ...]:
    """The ids of the guesses in a lab's notebook, in order. Raises BadInput where the notebook can't be read."""
    return tuple(dict.fromkeys(_PREDICTED.findall(text_of(folder / FILE))))


def sections(cells: Sequence[SourceCell]) -> tuple[str, ...]:
    """The headings of a notebook, without its title."""
    return tuple(text for _, text in list(_headings(cells))[1:])


def solution(cells: Sequence[SourceCell], id: str) -> str:
    """The cell of an exercise with its solution; "" where no cell defines it."""
    cell = _defining(cells, id)
    return cell.solved if cell is not None else ""


def _defining(cells: Sequence[SourceCell], id: str) -> SourceCell | None:
    """The exercise's cell that defines the name `id`."""
    definition = re.compile(rf"^(def {id}\(|class {id}\b|{id}\s*[:=])", re.MULTILINE)
    return next((cell for cell in cells if cell.is_exercise and definition.search(cell.text)), None)


def _headings(cells: Sequence[SourceCell]) -> Iterator[tuple[int, str]]:
    """Lines and words of all headings, blocks of code left out."""
    for cell in cells:
        if cell.kind != "markdown":
            continue
        in_code = False
        for number, line in enumerate(cell.text.split("\n"), cell.line):
            in_code ^= line.startswith("```")
            if not in_code and (match := _HEADING.fullmatch(line)):
                yield number, match[2]


def _order(headings: Sequence[tuple[int, str]]) -> Iterator[SourceProblem]:
    """Sections that are missing, or not where they belong."""
    texts = [text.strip("*_ ").lower() for _, text in headings]
    places = {}
    for name in SECTIONS:
        place = next((at for at, text in enumerate(texts) if text.startswith(name.lower())), None)
        if place is None:
            yield SourceProblem(None, f"there is no section {name!r}")
        else:
            places[name] = place
    for before, after in pairwise(places):
        if places[before] > places[after]:
            yield SourceProblem(headings[places[after]][0], f"{after!r} should come after {before!r}")


def _exercises(cells: Sequence[SourceCell], lab: LabDescription) -> Iterator[SourceProblem]:
    """Exercises that lab.yaml has and the notebook hasn't, and the other way round."""
    checked = _named(cells, _CHECKED)
    for id in lab.exercises:
        if _defining(cells, id) is None:
            yield SourceProblem(None, f"no cell of an exercise defines {id}, which its check asks for")
        if id not in checked:
            yield SourceProblem(None, f'no cell checks the exercise {id!r}: lab.check("{id}", ...)')
    for id, line in checked.items():
        if id not in lab.exercises:
            yield SourceProblem(line, f"the exercise {id!r} is not in lab.yaml")
    exercise_count = sum(cell.is_exercise for cell in cells)
    if exercise_count != len(lab.exercises):
        yield SourceProblem(
            None, f"there are {exercise_count} cells of exercises, and lab.yaml has {len(lab.exercises)}"
        )
