"""Decks in formats of other programs: which there are, which files they write, and how to tell them apart."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from workshop.core import words, yaml_files
from workshop.core.errors import BadInput
from workshop.quiz.deck import Deck
from workshop.quiz.formats import qti_version
from workshop.quiz.formats.base import Exported, Imported, Lost

__all__ = ["FORMATS", "LARGEST", "Exported", "Format", "Imported", "Lost", "format_of", "read", "write"]

LARGEST = 5 * 1024 * 1024  # bytes


@dataclass(frozen=True)
class Format:
    """A format; its module has `read(data, name) -> Imported` and `write(deck, pictures) -> Exported`."""

    name: str
    title: str
    endings: tuple[str, ...]  # of files, the usual one first
    reads: bool = True

    def module(self) -> object:
        return import_module(f"{__name__}.{self.name}")


FORMATS = {
    format.name: format
    for format in (
        Format("gift", "Moodle GIFT", (".gift", ".txt")),
        Format("moodle", "Moodle XML", (".xml",)),
        Format("qti", "QTI 2.1", (".zip", ".xml")),
        Format("aiken", "Aiken", (".txt",)),
        Format("jupyterquiz", "jupyterquiz", (".json",), reads=False),
    )
}
_OPTION = re.compile(rb"^[ \t]*[A-Z][.)][ \t]", re.MULTILINE)
_ANSWER = re.compile(rb"^[ \t]*ANSWER[ \t]*:[ \t]*[A-Z][.)]?[ \t]*\r?$", re.MULTILINE | re.IGNORECASE)


def named(name: str) -> Format:
    """Raises BadInput."""
    if name not in FORMATS:
        raise BadInput(f"There is no format {name[:60]!r}; there are {words.listed(FORMATS)}.")
    return FORMATS[name]


def format_of(path: Path, data: bytes) -> Format:
    """The format of a file, by its ending, and where several have the same one, by what is in it. Raises BadInput."""
    known = [format for format in FORMATS.values() if path.suffix.lower() in format.endings]
    if not known and data.startswith(b"PK"):
        return FORMATS["qti"]  # a package with an ending of its own, as Canvas's .imscc
    if not known:
        endings = dict.fromkeys(ending for format in FORMATS.values() if format.reads for ending in format.endings)
        raise BadInput(f"{path} could be of any format: name it with --format, or end its name in {_either(endings)}.")
    if len(known) == 1:
        return known[0]
    if path.suffix.lower() == ".xml":
        return FORMATS["qti" if qti_version.version_of(data) else "moodle"]
    return FORMATS["aiken" if _OPTION.search(data) and _ANSWER.search(data) else "gift"]


def read(path: Path, format: str | None = None) -> Imported:
    """A deck from a file of another program. Raises BadInput with one sentence."""
    chosen = None if format is None else named(format)
    too_large = f"{path} has more than {LARGEST // 1024**2} MB; split it into several files."
    data = yaml_files.read_bytes(path, LARGEST, too_large)
    chosen = chosen or format_of(path, data)
    if not chosen.reads:
        readable = [one.name for one in FORMATS.values() if one.reads]
        raise BadInput(f"{path}: {chosen.title} can only be written; what can be read is {words.listed(readable)}.")
    return chosen.module().read(data, str(path))


def write(deck: Deck, format: str, pictures: Mapping[str, bytes] | None = None) -> Exported:
    """A deck as a file of another program; `pictures` holds those of its questions by name. Raises BadInput."""
    return named(format).module().write(deck, pictures or {})


def _either(items: Mapping[str, None]) -> str:
    *first, last = items
    return f"{', '.join(first)} or {last}"
