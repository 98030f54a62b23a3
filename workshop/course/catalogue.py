"""All labs together: which there are, and everything that is wrong with them.

Functions that take a folder `labs` look at the labs in it; without one, at all labs that extensions bring.
"""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from workshop import registry
from workshop.core import config, words
from workshop.core.errors import BadInput
from workshop.course import description, exercise_checks, links, notebook, notebook_checks, source
from workshop.course.description import LabDescription
from workshop.quiz import reader

MISTAKES = 3  # typical wrong answers of an exercise, at least
NEEDED = (description.FILE, source.FILE, exercise_checks.CHECKS, exercise_checks.MISTAKES, "runsheet.md")


def folders(labs: Path | None = None) -> list[Path]:
    """The folders of the labs, in the order of the course where it can be told."""
    if labs is None:
        found = [lab.folder for lab in registry.labs()]
    else:
        found = [path.parent for path in labs.glob(f"*/{source.FILE}")]
    return sorted(found, key=lambda folder: (_number(folder), folder.name))


def is_own(folder: Path) -> bool:
    """Whether a lab is the workshop's own. `workshop labs build` keeps its notebook in a file; the notebook of another
    package's lab is made when it is handed out."""
    return folder.parent == config.labs_folder()


def readable() -> Iterator[tuple[Path, LabDescription]]:
    """Labs with a readable description, and their folders. `workshop labs check` reports the others."""
    for folder in folders():
        with suppress(BadInput):
            yield folder, description.read(folder)


def _number(folder: Path) -> int:
    try:
        return description.read(folder).number
    except BadInput:
        return 100


def file_name(lab: LabDescription, folder: Path) -> str:
    """What its notebook is called."""
    return f"{lab.number}-{folder.name}.ipynb"


def find(name: str) -> Path:
    """The folder of the lab of this name. Raises BadInput with the nearest name where there is none."""
    there = {folder.name: folder for folder in folders()}
    if name in there:
        return there[name]
    near = difflib.get_close_matches(name, there, 1, 0.6)
    right = f"did you mean {near[0]}?" if near else f"there are {words.listed(there) or 'none'}."
    raise BadInput(f"There is no lab {name!r:.60}; {right}")


def problems(labs: Path | None = None, only: Sequence[Path] | None = None) -> list[str]:
    """A sentence with file and line for each problem in all labs, or in the labs of some folders."""
    told: list[str] = []
    numbers: Counter[int] = Counter()
    for folder in folders(labs):
        if only is not None and folder not in only:
            numbers[_number(folder)] += 1
            continue
        told += [f"{folder / name} is missing." for name in NEEDED if not (folder / name).is_file()]
        try:
            lab = description.read(folder)
        except BadInput as error:
            told += str(error).splitlines()
            lab = None
        else:
            numbers[lab.number] += 1
            if numbers[lab.number] > 1:
                told.append(f"{folder / description.FILE}: number {lab.number} is that of another lab already.")
            if not (folder.parent / lab.deck / reader.FILE).is_file() and lab.deck not in reader.shipped():
                told.append(f"{folder / description.FILE}: there is no deck {lab.deck!r}.")
        told += _notebook(folder, lab, labs)
        if lab is not None:
            told += _answers(folder, lab)
    return told


def _notebook(folder: Path, lab: LabDescription | None, labs: Path | None) -> Iterator[str]:
    path = folder / source.FILE
    try:
        text = source.text_of(path)
    except BadInput as error:
        yield str(error)
        return
    cells, found = source.look(text)
    if lab is not None:
        found = [*found, *notebook_checks.problems(cells, lab), *_links(cells, labs)]
        if not found:
            found = list(notebook_checks.size(len(notebook.dumped(notebook.of(text, lab, folder.name)).encode())))
    for problem in sorted(found, key=lambda one: one.line or 0):
        yield source.worded(str(path), problem)


def _links(cells: Sequence[source.SourceCell], labs: Path | None) -> Iterator[source.SourceProblem]:
    """Links to what learners haven't got beside their notebook."""
    for cell in cells:
        if cell.kind == "markdown":
            for line, link in links.relative(cell.text):
                if told := links.problem(link, labs):
                    yield source.SourceProblem(cell.line + line, told)


def _answers(folder: Path, lab: LabDescription) -> Iterator[str]:
    """Checks and typical mistakes that don't fit the lab's exercises."""
    for name, loaded in (
        (exercise_checks.CHECKS, exercise_checks.load),
        (exercise_checks.MISTAKES, exercise_checks.mistakes),
    ):
        path = folder / name
        if not path.is_file():
            continue
        try:
            there = loaded(folder)
        except BadInput as error:
            yield str(error)
            continue
        yield from _fits(path, lab.exercises, list(there))
        if name == exercise_checks.MISTAKES:
            for id, those in there.items():
                if len(those) < MISTAKES:
                    yield f"{path}: {id!r} has {len(those)} mistakes; it should have at least {MISTAKES}."


def _fits(path: Path, exercises: Sequence[str], there: Sequence[str]) -> Iterator[str]:
    for id in exercises:
        if id not in there:
            yield f"{path} has nothing for the exercise {id!r}; it has {words.listed(there)}."
    for id in there:
        if id not in exercises:
            yield f"{path}: {id!r} is no exercise of lab.yaml."
