"""Imports and exports decks in formats of other programs, and recognises the format of a file."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from pathlib import Path

from workshop.core import words, yaml_files
from workshop.core.errors import BadInput
from workshop.extension import QuizFormat, load
from workshop.quiz.deck import Deck
from workshop.quiz.formats.base import Exported, Imported, Lost
from workshop.registry import formats

__all__ = ["LARGEST", "Exported", "Imported", "Lost", "format_of", "read", "write"]

LARGEST = 5 * 1024 * 1024  # bytes


def named(name: str) -> QuizFormat:
    """Raises BadInput."""
    if name not in formats():
        raise BadInput(f"There is no format {name[:60]!r}; there are {words.listed(formats())}.")
    return formats()[name]


def format_of(path: Path, data: bytes) -> QuizFormat:
    """The format of a file by its ending; if several formats share it, by the file's content. Raises BadInput."""
    candidates = [format for format in formats().values() if path.suffix.lower() in format.endings]
    if not candidates:  # a package with an unknown ending, such as Canvas's .imscc
        candidates = [format for format in formats().values() if format.recognises and load(format.recognises)(data)]
    if not candidates:
        endings = dict.fromkeys(ending for format in formats().values() if format.read for ending in format.endings)
        raise BadInput(
            f"{path} could be of any format: name it with --format, or end its name in {words.listed(endings, 'or')}."
        )
    if len(candidates) == 1:
        return candidates[0]
    sure = next((format for format in candidates if format.recognises and load(format.recognises)(data)), None)
    return sure or next(format for format in candidates if not format.recognises)


def read(path: Path, format: str | None = None) -> Imported:
    """Read a deck from a file of another program. Raises BadInput with one sentence."""
    chosen = None if format is None else named(format)
    too_large = f"{path} has more than {LARGEST // 1024**2} MB; split it into several files."
    data = yaml_files.read_bytes(path, LARGEST, too_large)
    chosen = chosen or format_of(path, data)
    if not chosen.read:
        readable = [entry.name for entry in formats().values() if entry.read]
        raise BadInput(f"{path}: {chosen.title} can only be written; what can be read is {words.listed(readable)}.")
    imported: Imported = import_module(chosen.module).read(data, str(path))
    return imported


def write(deck: Deck, format: str, pictures: Mapping[str, bytes] | None = None) -> Exported:
    """Write a deck as a file of another program; `pictures` has the questions' pictures by name. Raises BadInput."""
    exported: Exported = import_module(named(format).module).write(deck, pictures or {})
    return exported
