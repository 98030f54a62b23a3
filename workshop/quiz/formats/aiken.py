"""Aiken: single choices in plain text, a line for the question, one for each option, and ANSWER: with a letter."""

from __future__ import annotations

import re
import string
from collections.abc import Mapping

from workshop.core.errors import BadInput
from workshop.quiz.deck import Deck, Single
from workshop.quiz.formats import importer, markdown_writer, markup
from workshop.quiz.formats.base import Exported, Imported
from workshop.quiz.formats.exporter import Capacity, Exportable, exportable
from workshop.quiz.formats.importer import DeckBuilder

# A file that has lines of both kinds is surely Aiken.
_ANY_OPTION = re.compile(rb"^[ \t]*[A-Z][.)][ \t]", re.MULTILINE)
_ANY_ANSWER = re.compile(rb"^[ \t]*ANSWER[ \t]*:[ \t]*[A-Z][.)]?[ \t]*\r?$", re.MULTILINE | re.IGNORECASE)
_CARRIES = Capacity("Aiken", frozenset({"single"}), frozenset())
_OPTION = re.compile(r"([A-Z])[.)][ \t]+(\S.*)")
_ANSWER = re.compile(r"ANSWER:[ \t]*(\S*)")
# As some write it, and only behind options: a question's text may well begin with `Answer:`.
_LENIENT = re.compile(r"ANSWER[ \t]*:[ \t]*([A-Z])[.)]?", re.IGNORECASE)


def recognises(data: bytes) -> bool:
    """Whether a text file is surely Aiken, and not GIFT."""
    return bool(_ANY_OPTION.search(data) and _ANY_ANSWER.search(data))


def write(deck: Deck, pictures: Mapping[str, bytes]) -> Exported:
    """A deck as Aiken. Raises BadInput where there is no question that Aiken can carry."""
    made = exportable(deck, _CARRIES, {})
    blocks = [block for question in made.questions if (block := _question(question, made))]
    return Exported(("\n\n".join(blocks) + "\n").encode(), tuple(made.lost))


def _question(question: Single, made: Exportable) -> str:
    texts = [question.text, *(option.text for option in question.options)]
    text, *options = [markup.plain(one) for one in texts]
    if _OPTION.fullmatch(text) or _ANSWER.match(text):
        made.lose(question, "question", "a text that Aiken would take for an option or an answer")
    elif len(set(options)) < len(options) or not all([text, *options]):
        made.lose(question, "question", "texts that are empty or alike without their formatting")
    else:
        if any(markup.marked(one) for one in texts):
            made.lose(question, "formatting", "the formatting of its texts")
        lines = [f"{letter}. {option}" for letter, option in zip(string.ascii_uppercase, options, strict=False)]
        return "\n".join([text, *lines, f"ANSWER: {string.ascii_uppercase[question.right[0]]}"])
    return ""


def read(data: bytes, name: str) -> Imported:
    """A deck from Aiken. Raises BadInput with the file and the line."""
    found = DeckBuilder(name)
    text: list[str] = []
    options: dict[str, str] = {}
    began = 1
    for number, raw in enumerate(importer.text_of(data, name, "Aiken").split("\n"), 1):
        line = raw.strip()
        if not line:
            continue
        if answer := (_LENIENT.fullmatch(line) if options else None) or _ANSWER.fullmatch(line):
            _take(found, f"{name}, line {number}", " ".join(text), options, answer[1].upper())
            text, options = [], {}
        elif text and (option := _OPTION.fullmatch(line)):
            if option[1] in options:
                raise BadInput(f"{name}, line {number}: there is an option {option[1]} already; each has its letter.")
            options[option[1]] = option[2].strip()
        elif options:
            raise BadInput(f"{name}, line {number}: {line[:40]!r} should be an option like `B. …`, or `ANSWER: B`.")
        else:
            began = began if text else number
            text.append(line)
    if text:
        raise BadInput(f"{name}, line {began}: a question without an answer; it should end with a line like ANSWER: A.")
    return found.imported()


def _take(found: DeckBuilder, where: str, text: str, options: dict[str, str], right: str) -> None:
    if not text or len(options) < 2:
        raise BadInput(f"{where}: an answer without a question and two options before it.")
    if right not in options:
        raise BadInput(f"{where}: ANSWER is {right[:20]!r}; it should be one of {', '.join(options)}.")
    listed = [{"text": markdown_writer.escaped(said), "right": letter == right} for letter, said in options.items()]
    found.add(
        {"type": "single", "id": found.new_id(text[:60]), "text": markdown_writer.escaped(text), "options": listed}
    )
