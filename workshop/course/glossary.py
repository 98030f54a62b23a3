"""The glossary of the course: the terms that the labs explain below their heading "Words"."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from workshop.core.errors import BadInput
from workshop.course import catalogue, source

SECTION = "Words"

_WORDS = re.compile(rf"^## +{SECTION} *\n(.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)
_ITEM = re.compile(r"^- +((?:.+\n?)(?: +.+\n?)*)", re.MULTILINE)
_TERM = re.compile(r"\*\*([^*]+)\*\*")


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
