"""Texts of GIFT: Markdown whose formulas are in the notation that MathJax finds in Moodle, and plain text.

What is lost where a deck is read from GIFT or written as GIFT.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

# A formula of ours, outside of code; a formula in Moodle's Markdown; a formula in a text without a format.
_OURS = re.compile(
    r"(`+)(?!`).+?(?<!`)\1(?!`)|\\."
    r"|(?<![0-9$])(?P<mark>\${1,2})(?=\S)(?P<tex>.+?)(?<![\s\\])(?P=mark)(?![0-9$])",
    re.DOTALL,
)
_MARKDOWN = re.compile(r"\\\\\((.+?)\\\\\)|\\\\\[(.+?)\\\\\]", re.DOTALL)
_PLAIN = re.compile(r"\\\((.+?)\\\)|\\\[(.+?)\\\]|\$\$(.+?)\$\$", re.DOTALL)
_HTML = re.compile(r"</?[A-Za-z][^<>]*>|&#?\w+;")
# Characters of plain text that Markdown would read as marks.
_MARKS = re.compile(
    r"\\(?=[!-/:-@\[-`{-~]|\s|$)|`|\$|(?<![0-9A-Za-z])_|_(?![0-9A-Za-z])|(?<! )\*|\*(?! )"
    r"|\[|\](?=[(\[:])|<(?=[A-Za-z][^<>\s]*[:@])|&(?=#?\w+;)|\{(?=[a-z][a-z0-9_]*\})"
)
_BEGINS = re.compile(r"^(?=#{1,6}(?:\s|$)|>|[-+*](?:\s|$)|~~~|=+\s*$|[|:-][\s:|-]*$)")
_NUMBERED = re.compile(r"^(\d{1,9})(?=[.)](?:\s|$))")


def to_moodle(markdown: str) -> str:
    """Markdown for Moodle: formulas between \\\\( and \\\\), with backslashes before marks that Markdown would read."""

    def formula(match: re.Match[str]) -> str:
        if match["mark"] is None:
            return match[0]
        tex = re.sub(r"[\\`*_{}\[\]<>#]", r"\\\g<0>", match["tex"].strip())
        return f"\\\\({tex}\\\\)" if match["mark"] == "$" else f"\\\\[{tex}\\\\]"

    return _OURS.sub(formula, markdown.strip())


def from_moodle(text: str, format: str) -> str:
    """A text as Markdown, by the name of its format: markdown, plain, or moodle, which is plain text with formulas.
    Raises ValueError for HTML."""
    text = text.strip()
    if format == "html" or (format == "moodle" and _HTML.search(text)):
        raise ValueError("its text is HTML, which decks don't have; write it as Markdown, behind [markdown]")
    if format == "markdown":
        return _MARKDOWN.sub(_formula_of_markdown, text)
    if format == "plain":
        return escaped(text)
    parts, end = [], 0
    for match in _PLAIN.finditer(text):
        tex = next(group for group in match.groups() if group is not None).strip()
        parts += [_marked(text[end : match.start()]), f"${tex}$" if match[1] else f"$${tex}$$"]
        end = match.end()
    return _lines("".join(parts) + _marked(text[end:]))


def _formula_of_markdown(match: re.Match[str]) -> str:
    tex = re.sub(r"\\([!-/:-@\[-`{-~])", r"\1", (match[1] or match[2]).strip())
    return f"${tex}$" if match[1] else f"$${tex}$$"


def escaped(text: str) -> str:
    """Plain text as Markdown that reads the same."""
    return _lines(_marked(text.strip()))


def _marked(text: str) -> str:
    return _MARKS.sub(lambda match: "\\" + match[0], text)


def _lines(text: str) -> str:
    """Escape what begins a list, heading or table at the beginning of a line."""
    lines = (_BEGINS.sub(r"\\", line.strip()) for line in text.split("\n"))
    return "\n".join(_NUMBERED.sub(r"\1\\", line) for line in lines)


@dataclass(frozen=True)
class Loss:
    """A loss: something that GIFT can't carry, or that a deck can't contain."""

    question: str  # its id or title; empty for the whole deck
    what: str  # in words
    part: str = ""  # a field of the question or the deck; "question" for all of it; empty if decks have no such field

    def __str__(self) -> str:
        return f"{self.question}: {self.what}" if self.question else self.what

    def as_json(self) -> dict[str, Any]:
        return {"question": self.question or None, "part": self.part or None, "what": self.what}
