"""The glossary of the course, which are the terms that the labs explain below their heading "Words", and its
dictionary: each step of a data-parallel training in several frameworks, and their commands."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field

from workshop.core import config
from workshop.core.errors import BadInput
from workshop.course import catalogue, source
from workshop.course.catalogue import course_file

SECTION = "Words"

_WORDS = re.compile(rf"^## +{SECTION} *\n(.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)
_ITEM = re.compile(r"^- +((?:.+\n?)(?: +.+\n?)*)", re.MULTILINE)
_TERM = re.compile(r"\*\*([^*]+)\*\*")
DICTIONARY = "dictionary.yaml"


@dataclass(frozen=True)
class Term:
    """A term of the field: its name, the sentences that explain it as Markdown, and the lab that does."""

    name: str
    text: str
    lab: str


def read() -> list[Term]:
    """The terms of all labs in the order of the alphabet. The first lab that explains a term counts."""
    by_name: dict[str, Term] = {}
    for folder, _ in catalogue.readable():
        for term in terms(folder):
            by_name.setdefault(term.name.casefold(), term)
    return [by_name[name] for name in sorted(by_name)]


def terms(folder: Path) -> Iterator[Term]:
    """The terms that a lab explains. An item of the list explains each term that it shows in bold."""
    with suppress(BadInput):
        for cell in source.read(folder / source.FILE):
            for section in _WORDS.findall(cell.text) if cell.kind == "markdown" else ():
                for item in _ITEM.findall(section):
                    text = " ".join(item.split())
                    for name in dict.fromkeys(_TERM.findall(text)):
                        yield Term(name[0].upper() + name[1:], text, folder.name)


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


def read_dictionary() -> Dictionary:
    """Read the dictionary. Raises BadInput where its file can't be read, or where a step lacks a framework."""
    path = config.labs_folder() / DICTIONARY
    dictionary = course_file(path, "the dictionary", Dictionary)
    for step in dictionary.steps:
        if set(step.entries) != set(dictionary.frameworks):
            raise BadInput(f"{path}: the step {step.title!r} should have an entry for each framework.")
    return dictionary
