"""All labs together: which there are, and everything that is wrong with them.

Functions that take a folder `labs` look at the labs in it; without one, at all labs that extensions bring.

Paths through the course: which labs fit a class, its time and what it knows already.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Annotated, TypeVar

from pydantic import BaseModel, Field, ValidationError

from workshop import registry
from workshop.core import config, words, yaml_files
from workshop.core.errors import BadInput
from workshop.course import description, exercise_checks, notebook, source
from workshop.course.description import LARGEST_FILE, CoursePart, LabDescription, Name, Words
from workshop.quiz import reader

MISTAKES = 3  # typical wrong answers of an exercise, at least
NEEDED = (description.FILE, source.FILE, exercise_checks.CHECKS, exercise_checks.MISTAKES, "runsheet.md")


def folders(labs: Path | None = None) -> list[Path]:
    """The folders of the labs, in the order of the course where it can be told."""
    if labs is None:
        lab_folders = [lab.folder for lab in registry.labs()]
    else:
        lab_folders = [path.parent for path in labs.glob(f"*/{source.FILE}")]
    return sorted(lab_folders, key=lambda folder: (_number(folder), folder.name))


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


def file_name(lab: LabDescription, folder: Path, further: str = "") -> str:
    """The file name of a lab's notebook, or of a `further` one with this name."""
    return f"{lab.number}-{folder.name}{f'-{further}' if further else ''}.ipynb"


def find(name: str) -> Path:
    """The folder of the lab of this name. Raises BadInput with the nearest name where there is none."""
    by_name = {folder.name: folder for folder in folders()}
    if name in by_name:
        return by_name[name]
    raise BadInput(f"There is no lab {name!r:.60}; {words.nearest(name, by_name)}")


def problems(labs: Path | None = None, only: Sequence[Path] | None = None) -> list[str]:
    """A sentence with file and line for each problem in all labs, or in the labs of some folders. Labs of different
    packages may have the same number: nobody knows all packages."""
    sentences: list[str] = []
    numbers: Counter[tuple[Path, int]] = Counter()
    for folder in folders(labs):
        if only is not None and folder not in only:
            numbers[folder.parent, _number(folder)] += 1
            continue
        sentences += [f"{folder / name} is missing." for name in NEEDED if not (folder / name).is_file()]
        try:
            lab = description.read(folder)
        except BadInput as error:
            sentences += str(error).splitlines()
            lab = None
        else:
            numbers[folder.parent, lab.number] += 1
            if numbers[folder.parent, lab.number] > 1:
                sentences.append(f"{folder / description.FILE}: number {lab.number} is that of another lab already.")
            if not (folder.parent / lab.deck / reader.FILE).is_file() and lab.deck not in reader.shipped():
                sentences.append(f"{folder / description.FILE}: there is no deck {lab.deck!r}.")
        sentences += _notebook(folder, lab, labs)
        for path in source.further(folder):
            cells, faults = source.look(source.text_of(path))
            sentences += [source.worded(str(path), fault) for fault in [*faults, *_links(cells, labs)]]
        if lab is not None:
            sentences += _answers(folder, lab)
    return sentences


def _notebook(folder: Path, lab: LabDescription | None, labs: Path | None) -> Iterator[str]:
    path = folder / source.FILE
    try:
        text = source.text_of(path)
    except BadInput as error:
        yield str(error)
        return
    cells, faults = source.look(text)
    if lab is not None:
        faults = [*faults, *notebook.problems(cells, lab), *_links(cells, labs)]
    for problem in sorted(faults, key=lambda fault: fault.line or 0):
        yield source.worded(str(path), problem)


def _links(cells: Sequence[source.SourceCell], labs: Path | None) -> Iterator[source.SourceProblem]:
    """Links to what learners haven't got beside their notebook."""
    for cell in cells:
        if cell.kind == "markdown":
            for line, link in notebook.relative(cell.text):
                if fault := notebook.problem(link, labs):
                    yield source.SourceProblem(cell.line + line, fault)


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
            by_id = loaded(folder)
        except BadInput as error:
            yield str(error)
            continue
        for id in set(lab.exercises) - set(by_id):
            yield f"{path} has nothing for the exercise {id!r}; it has {words.listed(by_id)}."
        for id, mistakes_of_exercise in by_id.items():
            if id not in lab.exercises:
                yield f"{path}: {id!r} is no exercise of lab.yaml."
            if name == exercise_checks.MISTAKES and (count := len(mistakes_of_exercise)) < MISTAKES:
                yield f"{path}: {id!r} has {count} mistakes; it should have at least {MISTAKES}."


FILE = "paths.yaml"
FileModel = TypeVar("FileModel", bound=BaseModel)


class LearningPath(CoursePart):
    """A choice of labs. `extras`: the class does their extras, too."""

    title: Words
    audience: Words
    labs: tuple[Name, ...] = Field(min_length=1, strict=False)
    extras: bool = False
    note: Annotated[str, Field(max_length=500)] = ""

    def minutes(self, labs: Mapping[str, LabDescription]) -> int:
        """The minutes of the labs, without breaks."""
        path_labs = [labs[name] for name in self.labs if name in labs]
        return sum(lab.minutes + (lab.extra_minutes if self.extras else 0) for lab in path_labs)


class _Paths(CoursePart):
    paths: tuple[LearningPath, ...] = Field(strict=False)


def read() -> tuple[LearningPath, ...]:
    """The paths of labs/paths.yaml, and none where that file isn't installed. Raises BadInput for a bad file and for
    a lab that doesn't exist."""
    path = config.labs_folder() / FILE
    if not path.is_file():
        return ()
    paths = course_file(path, "the paths", _Paths).paths
    labs = {folder.name for folder in folders(path.parent)}
    for name in {name for learning_path in paths for name in learning_path.labs} - labs:
        find(name)
    return paths


def course_file(path: Path, content: str, model: type[FileModel]) -> FileModel:
    """Read a YAML file of the course, whose content is named for errors. Raises BadInput."""
    try:
        document = yaml_files.document(*yaml_files.compose(yaml_files.read_text(path, LARGEST_FILE, content)))
        return model.model_validate(document)
    except yaml_files.Unreadable as error:
        raise BadInput(f"{path}, line {error.line}: the file {error}") from None
    except ValidationError as error:
        first = error.errors()[0]
        raise BadInput(f"{path}: {'.'.join(map(str, first['loc']))}: {first['msg']}.") from None
