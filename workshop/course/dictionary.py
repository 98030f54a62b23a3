"""The dictionary of the course: each step of a data-parallel training in several frameworks, and their commands."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import BaseModel, ConfigDict, Field

from workshop.core import config
from workshop.core.errors import BadInput
from workshop.course.paths import course_file

FILE = "dictionary.yaml"


class DictionaryPart(BaseModel):
    """Base of the parts: an unknown field is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class DictionaryEntry(DictionaryPart):
    """The code of a step in a framework, and what one has to know of it."""

    code: str = ""
    note: str = ""


class RecipeStep(DictionaryPart):
    """A step of the training, with an entry for each framework."""

    title: str
    why: str
    entries: Mapping[str, DictionaryEntry]


class LaunchCommand(DictionaryPart):
    """The command of a launcher."""

    title: str
    line: str
    note: str = ""


class LaunchExample(DictionaryPart):
    """Commands that start the same ranks, which `ranks` describes."""

    ranks: str
    commands: tuple[LaunchCommand, ...]


class Dictionary(DictionaryPart):
    """The titles of frameworks by name, the steps in their order, and the commands."""

    frameworks: Mapping[str, str]
    steps: tuple[RecipeStep, ...] = Field(min_length=1)
    launch: LaunchExample


def read() -> Dictionary:
    """Read the dictionary. Raises BadInput where its file can't be read, or where a step lacks a framework."""
    path = config.labs_folder() / FILE
    dictionary = course_file(path, "the dictionary", Dictionary)
    for step in dictionary.steps:
        if set(step.entries) != set(dictionary.frameworks):
            raise BadInput(f"{path}: the step {step.title!r} should have an entry for each framework.")
    return dictionary
