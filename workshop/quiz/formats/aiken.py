"""Aiken: single choices in plain text, with a line for the question, a line for each option, and ANSWER: B."""

from __future__ import annotations

import re
import string
from collections.abc import Mapping
from itertools import pairwise
from typing import NamedTuple

from workshop.core.errors import BadInput
from workshop.quiz.deck import Deck
from workshop.quiz.formats import importer, markdown_writer, markup
from workshop.quiz.formats.base import Exported, Imported
from workshop.quiz.formats.exporter import Capacity, Exportable, exportable
from workshop.quiz.formats.importer import DeckBuilder
from workshop.quiz.types.choice import Single

# A file with both kinds of lines is certainly Aiken.
_ANY_OPTION = re.compile(rb"^[ \t]*[A-Z][.)][ \t]", re.MULTILINE | re.IGNORECASE)
_ANY_ANSWER = re.compile(rb"^[ \t]*ANSWER[ \t]*:[ \t]*[A-Z][.)]?[ \t]*\r?$", re.MULTILINE | re.IGNORECASE)
_CARRIES = Capacity("Aiken", frozenset({"single"}), frozenset())
_OPTION = re.compile(r"([A-Z])[.)][ \t]+(\S.*)")
_SMALL = re.compile(_OPTION.pattern, re.IGNORECASE)
_ANSWER = re.compile(r"ANSWER:[ \t]*(\S*)")
# A lenient form of the answer. A question's text may also begin with `Answer:`, but has more than one letter behind it.
_LENIENT = re.compile(r"ANSWER[ \t]*:[ \t]*([A-Z])[.)]?", re.IGNORECASE)


def recognises(data: bytes) -> bool:
    """Whether a text file is certainly Aiken, and not GIFT."""
    return bool(_ANY_OPTION.search(data) and _ANY_ANSWER.search(data))


def write(deck: Deck, pictures: Mapping[str, bytes]) -> Exported:
    """Write a deck as Aiken. Raises BadInput if Aiken can carry none of its questions."""
    export = exportable(deck, _CARRIES, {})
    blocks = [block for question in export.questions if (block := _question(question, export))]
    return Exported(("\n\n".join(blocks) + "\n").encode(), tuple(export.lost))


def _question(question: Single, export: Exportable) -> str:
    texts = [question.text, *(option.text for option in question.options)]
    text, *options = [markup.plain(markdown) for markdown in texts]
    if _OPTION.fullmatch(text) or _ANSWER.match(text) or _LENIENT.fullmatch(text):
        export.lose(question, "question", "a text that Aiken would take for an option or an answer")
    elif len(set(options)) < len(options) or not all([text, *options]):
        export.lose(question, "question", "texts that are empty or alike without their formatting")
    else:
        if any(markup.marked(markdown) for markdown in texts):
            export.lose(question, "formatting", "the formatting of its texts")
        lines = [f"{letter}. {option}" for letter, option in zip(string.ascii_uppercase, options, strict=False)]
        return "\n".join([text, *lines, f"ANSWER: {string.ascii_uppercase[question.right[0]]}"])
    return ""


def read(data: bytes, name: str) -> Imported:
    """Read a deck from Aiken. Raises BadInput with the file and the line."""
    builder = DeckBuilder(name)
    block: list[_Line] = []
    gap = False
    for number, raw in enumerate(importer.text_of(data, name, "Aiken").split("\n"), 1):
        line = raw.strip()
        if answer := _LENIENT.fullmatch(line) or _ANSWER.fullmatch(line):
            _take(builder, f"{name}, line", block, number, answer[1].upper())
            block = []
        elif line:
            block.append(_Line(number, line, gap))
        gap = not line
    if block:
        raise _unanswered(f"{name}, line", block)
    return builder.imported()


class _Line(NamedTuple):
    number: int
    words: str
    gap: bool  # whether a blank line is before it


def _take(builder: DeckBuilder, where: str, block: list[_Line], end: int, right: str) -> None:
    """Add the question of the lines before an answer. Small letters begin options only if no line begins with a
    capital letter; otherwise they belong to the question's text."""
    text: list[str] = []
    options: dict[str, str] = {}
    capital = any(_OPTION.fullmatch(line.words) for line in block[1:])
    for before, line in pairwise([_Line(0, "", False), *block]):
        option = _SMALL.fullmatch(line.words)
        if text and option and (options or not capital or option[1].isupper()):
            letter = option[1].upper()
            if letter in options:
                raise BadInput(f"{where} {line.number}: there is an option {letter} already; each has its letter.")
            options[letter] = option[2].strip()
        elif options:
            raise BadInput(
                f"{where} {line.number}: {line.words[:40]!r} should be an option like `B. …`, or `ANSWER: B`."
            )
        elif line.gap and not option and len(text) > 1 and _SMALL.fullmatch(before.words):
            raise _unanswered(where, block)  # these would be two questions, the first without an answer
        else:
            text.append(line.words)
    if not text or len(options) < 2:
        raise BadInput(f"{where} {end}: an answer without a question and two options before it.")
    if right not in options:
        raise BadInput(f"{where} {end}: ANSWER is {right[:20]!r}; it should be one of {', '.join(options)}.")
    listed = [
        {"text": markdown_writer.escaped(option_text), "right": letter == right}
        for letter, option_text in options.items()
    ]
    question_text = " ".join(text)
    builder.add(
        {
            "type": "single",
            "id": builder.new_id(question_text[:60]),
            "text": markdown_writer.escaped(question_text),
            "options": listed,
        }
    )


def _unanswered(where: str, block: list[_Line]) -> BadInput:
    return BadInput(
        f"{where} {block[0].number}: a question without an answer; it should end with a line like ANSWER: A."
    )
