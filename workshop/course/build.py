"""The folder of notebooks: it is made of the workshop's own labs, and told where it isn't what their sources say. The
notebooks of other packages' labs are made whenever they are handed out."""

from __future__ import annotations

import json
from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from workshop.core import config
from workshop.core.errors import BadInput
from workshop.course import catalogue, description, notebook, source
from workshop.course.description import LabDescription
from workshop.course.notebook import COMMAND, MARK

SOLUTIONS = "solutions"  # the folder of the others


@dataclass(frozen=True)
class Built:
    """The result of a build: paths below the folder of notebooks."""

    written: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    same: tuple[str, ...] = ()


def all_of(labs: Path) -> dict[str, str]:
    """Every notebook of the course: its text by its path below the folder of notebooks.

    Raises BadInput with every problem of every lab.
    """
    texts: dict[str, str] = {}
    problems: list[str] = []
    for folder in catalogue.folders(labs):
        try:
            lab, text = description.read(folder), source.text_of(folder / source.FILE)
            solved = notebook.make(text, lab, folder.name, solutions=True)
            texts |= learners_notebooks(folder, lab)
            texts[f"{SOLUTIONS}/{catalogue.file_name(lab, folder)}"] = notebook.dumped(solved)
        except BadInput as error:
            problems.append(str(error))
    if problems:
        raise BadInput("\n".join(problems))
    return texts


def learners_notebooks(folder: Path, lab: LabDescription) -> dict[str, str]:
    """The texts of a lab's notebook and of its further ones, without solutions, by their names. Raises BadInput."""
    notebooks = {"": notebook.make(source.text_of(folder / source.FILE), lab, folder.name)}
    for path in source.further(folder):
        text = source.text_of(path)
        notebooks[path.stem] = notebook.make(text, lab, folder.name, file=f"{source.FURTHER}/{path.name}")
    return {catalogue.file_name(lab, folder, name): notebook.dumped(each) for name, each in notebooks.items()}


def package_notebooks() -> dict[str, str]:
    """The learners' notebooks of labs that other packages bring: their texts by their names. A notebook that can't be
    made is left out; `workshop labs check` says why."""
    texts: dict[str, str] = {}
    for folder, lab in catalogue.readable():
        if not catalogue.is_own(folder):
            with suppress(BadInput):
                texts |= learners_notebooks(folder, lab)
    return texts


def build(notebooks: Path, labs: Path | None = None) -> Built:
    """Write all notebooks that have changed, and take away generated ones that no lab makes any more.

    Nothing is written unless every source can be read. Raises BadInput.
    """
    texts = all_of(labs or config.labs_folder())
    same = [path for path, text in texts.items() if _text(notebooks / path) == text]
    written = [path for path in texts if path not in same]
    removed = [path for path in generated(notebooks) if path not in texts]
    try:
        for path in written:
            (notebooks / path).parent.mkdir(parents=True, exist_ok=True)
            (notebooks / path).write_text(texts[path], encoding="utf-8")
        for path in removed:
            (notebooks / path).unlink()
    except OSError as error:
        raise BadInput(f"{error.filename} can't be written ({error.strerror}).") from None
    return Built(tuple(written), tuple(removed), tuple(same))


def stale(notebooks: Path, labs: Path | None = None, only: Collection[str] | None = None) -> list[str]:
    """A sentence for each notebook that isn't what its source says; `only` are names of notebooks, else it is all.
    Raises BadInput where a source can't be read."""
    texts = all_of(labs or config.labs_folder())
    sentences = []
    for path, text in texts.items():
        if only is not None and Path(path).name not in only:
            continue
        present = _text(notebooks / path)
        if present is None:
            sentences.append(f"{notebooks / path} is missing; make it with {COMMAND}.")
        elif present != text:
            sentences.append(f"{notebooks / path} is not what its source makes; make it anew with {COMMAND}.")
    leftover = [path for path in generated(notebooks) if path not in texts and only is None]
    return sentences + [
        f"{notebooks / path} comes from no lab any more; take it away with {COMMAND}." for path in leftover
    ]


def generated(notebooks: Path) -> list[str]:
    """The generated notebooks below a folder. Other files in it stay as they are."""
    notebooks_found = []
    for path in sorted([*notebooks.glob("*.ipynb"), *notebooks.glob(f"{SOLUTIONS}/*.ipynb")]):
        try:
            marked = json.loads(path.read_text(encoding="utf-8"))["metadata"][MARK]["generated"]
        except (OSError, ValueError, KeyError, TypeError):
            continue
        if marked == COMMAND:
            notebooks_found.append(path.relative_to(notebooks).as_posix())
    return notebooks_found


def _text(path: Path) -> str | None:
    try:
        return path.read_bytes().decode("utf-8")
    except (OSError, ValueError):
        return None
