"""The description of a lab: labs/<lab>/lab.yaml, and all problems of a bad one at once, by line."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from workshop.core import yaml_files
from workshop.course.source import BadSource, SourceProblem
from workshop.quiz.form_errors import Where, mistakes

FILE = "lab.yaml"
LARGEST_FILE = 64 * 1024  # bytes
SHORTEST, LONGEST = 20, 45  # minutes of a lab

Words = Annotated[str, Field(min_length=1, max_length=300, pattern=r"\S")]
Name = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_-]*$", max_length=40)]


class CoursePart(BaseModel):
    """Base of what the course's YAML files hold: an unknown field is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class LabStep(CoursePart):
    """A part of a lab, and how long it takes."""

    name: Words
    minutes: int = Field(ge=1, le=LONGEST)
    extra: bool = False  # beyond the core of the lab


class LabPrediction(CoursePart):
    """The question of a guess that the notebook keeps with `lab.predict(id)`; the guess is a number in `unit`."""

    id: Name
    question: Words
    unit: Annotated[Words, Field(max_length=40)]


class LabDescription(CoursePart):
    """A lab of the course. `minutes` is the time for its core, without the steps that are extras. `exercises` are names
    in its notebook's code and ids of its checks, `predictions` ask for its guesses, `deck` is its quiz."""

    number: int = Field(ge=0, le=99)
    title: Words
    minutes: int = Field(ge=SHORTEST, le=LONGEST)
    goals: tuple[Words, ...] = Field(min_length=1, strict=False)  # YAML has lists
    needs: tuple[Words, ...] = Field((), strict=False)
    steps: tuple[LabStep, ...] = Field(min_length=1, strict=False)
    exercises: tuple[Name, ...] = Field((), strict=False)
    predictions: tuple[LabPrediction, ...] = Field((), strict=False)
    deck: Name

    @property
    def extra_minutes(self) -> int:
        return sum(step.minutes for step in self.steps if step.extra)


def read(folder: Path) -> LabDescription:
    """The description of a lab. Raises BadSource with every problem, or BadInput where the file can't be read."""
    path = folder / FILE
    return parse(yaml_files.read_text(path, LARGEST_FILE, "a lab"), str(path))


@lru_cache(maxsize=64)  # pages ask for all labs whenever they are drawn
def parse(text: str, name: str = FILE) -> LabDescription:
    """A description from the text of a file of that name. Raises BadSource."""
    try:
        node, loader = yaml_files.compose(text)
        document = yaml_files.document(node, loader)
    except yaml_files.Unreadable as error:
        raise BadSource(name, [SourceProblem(error.line, f"the file {error}".rstrip("."))]) from None
    if not isinstance(document, dict):
        raise BadSource(name, [SourceProblem(None, "the file describes no lab; it should have lines like `number: 1`")])
    problems = [SourceProblem(line, text.rstrip(".")) for line, text in yaml_files.bad_keys(node)]
    try:
        lab = LabDescription.model_validate(document)
    except ValidationError as error:
        problems += [
            SourceProblem(yaml_files.line_of(node, path), text)
            for path, text in mistakes(error, LabDescription, document)
        ]
        raise BadSource(name, problems) from None
    problems += [SourceProblem(yaml_files.line_of(node, path), text) for path, text in _meaning(lab)]
    if problems:
        raise BadSource(name, problems)
    return lab


def _meaning(lab: LabDescription) -> Iterator[tuple[Where, str]]:
    """Problems of a description whose form is right."""
    total = sum(step.minutes for step in lab.steps if not step.extra)
    if total != lab.minutes:
        yield ("minutes",), f"minutes is {lab.minutes}, but the steps that are no extras take {total} together"
    for place, id in enumerate(lab.exercises):
        if not id.isidentifier():
            called = id.replace("-", "_")
            yield ("exercises", place), f"the exercise {id!r} should have its name in the notebook, like {called!r}"
        if id in lab.exercises[:place]:
            yield ("exercises", place), f"the exercise {id!r} is there twice"
    for place, prediction in enumerate(lab.predictions):
        if prediction.id in (earlier.id for earlier in lab.predictions[:place]):
            yield ("predictions", place, "id"), f"the prediction {prediction.id!r} is there twice"
