"""The output of ranks in a notebook: a block for each rank, in rank order, redrawn while the cell runs; figures and
tables come below, labelled. Where nothing can be redrawn (a terminal), text is printed at the end.
"""

from __future__ import annotations

import re
import time
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

from IPython import get_ipython
from IPython.display import publish_display_data
from rich.color import parse_rgb_hex
from rich.console import Console
from rich.style import Style
from rich.terminal_theme import TerminalTheme
from rich.text import Text

from workshop.core.words import count, quantity
from workshop.engine import cells
from workshop.notebook.display import MACROS

_COLOUR = r"\x1b\[[0-9;]{0,60}m"
_OTHER = r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b\[[0-9;?]*$|\x1b[^\[\]]?|[\x00\b]"
_ESCAPES = re.compile(f"{_COLOUR}|{_OTHER}")
_NO_COLOURS = re.compile(rf"({_COLOUR})|{_OTHER}")
# A terminal's eight colours; all can be read on white and on black.
_EIGHT = [
    parse_rgb_hex(colour) for colour in ("6e7781", "d1242f", "2da44e", "b08800", "3b82f6", "a475f9", "1b9aaa", "8c959f")
]
_THEME = TerminalTheme((255, 255, 255), (0, 0, 0), _EIGHT)
_CONSOLE = Console(quiet=True)  # rich asks it for the styles of a text, and prints nothing to it


def without_escapes(text: str) -> str:
    """A text without its colours and other orders to a terminal."""
    return _ESCAPES.sub("", text)


def as_html(text: str) -> str:
    """A text as HTML, escaped, with its terminal's colours."""
    coloured = Text.from_ansi(_NO_COLOURS.sub(lambda match: match[1] or "", text))
    pieces = coloured.render(_CONSOLE)
    return str(MACROS.coloured([(words, _rules(style) if style else "") for words, style, _ in pieces]))


def _rules(style: Style) -> str:
    """A style as CSS. Where a terminal would use its own colour, the page's stays."""
    colour, ground = (
        colour_of_style if colour_of_style and not colour_of_style.is_default else None
        for colour_of_style in (style.color, style.bgcolor)
    )
    return (style.without_color + Style(color=colour, bgcolor=ground)).get_html_style(_THEME)


LINES = 100  # last lines of a rank that are kept
CHARACTERS = 20_000  # and how long all of them may be together
OFTEN = 0.1  # seconds between two drawings
PACE = 1_000_000  # characters a second that drawings may have
PATIENT = 2.0  # seconds behind which a cell that runs says so

_BREAKS = re.compile(r"(\r\n|\n|\r)")


class OutputTail:
    """The last lines of an output. A carriage return restarts the line, as progress bars need it."""

    def __init__(self) -> None:
        self.left_out = 0  # lines before those that are kept
        self._lines: deque[str] = deque()
        self._length = 0
        self._last = ""
        self._returned = False

    def write(self, text: str) -> None:
        for piece in _BREAKS.split(text):
            if piece == "\r":
                self._returned = True
            elif piece in ("\n", "\r\n"):
                self._lines.append(self._last)
                self._length += len(self._last)
                self._last, self._returned = "", False
                while len(self._lines) > LINES or self._length > CHARACTERS:
                    self._length -= len(self._lines.popleft())
                    self.left_out += 1
            elif piece:
                self._last = (piece if self._returned else self._last + piece)[-CHARACTERS:]
                self._returned = False

    def clear(self) -> None:
        self.left_out, self._length, self._last, self._returned = 0, 0, "", False
        self._lines.clear()

    @property
    def note(self) -> str:
        """How many lines are left out; "" for none."""
        lines = f"{quantity(self.left_out)} {count(self.left_out, 'line').split()[1]}"
        return f"({lines} before these left out)" if self.left_out else ""

    @property
    def text(self) -> str:
        """All that is kept; the last line may not have ended yet."""
        return "\n".join([*self._lines, *([self._last] if self._last else [])])


@dataclass
class OfRank:
    """The output of one rank."""

    tail: OutputTail = field(default_factory=OutputTail)
    displays: list[Mapping[str, Any]] = field(default_factory=list)  # messages with a figure or table
    where: Mapping[str, Any] | None = None  # the line in which it stays
    _clear: bool = False  # at the next output

    def take(self, content: Mapping[str, Any]) -> None:
        """A message of `workshop.engine.cells`."""
        data = content["data"]
        if cells.WHERE in data:
            self.where = data[cells.WHERE]
            return
        if cells.CLEAR in data:
            self._clear = True
            if not data[cells.CLEAR]:
                self._cleared()
            return
        self._cleared()
        if cells.TEXT in data:
            self.tail.write(data[cells.TEXT])
        elif set(data) <= {"text/plain"}:
            self.tail.write(f"{data.get('text/plain', '')}\n")
        else:
            more = content.get("transient") or {}
            if not more.get("update"):
                self.displays.append(content)
            elif (id := more.get("display_id")) is not None:
                same = [(output.get("transient") or {}).get("display_id") == id for output in self.displays]
                self.displays = [content if new else old for new, old in zip(same, self.displays, strict=True)]

    def _cleared(self) -> None:
        if self._clear:
            self.tail.clear()
            self.displays.clear()
            self._clear = False


class Output:
    """The output of a cell; `note` is a line above the ranks' blocks."""

    def __init__(self) -> None:
        self.ranks: list[OfRank] = []
        self.status = ""  # a line below the blocks, while the cell runs
        self._notes: list[str] = []
        self._id: str | None = None
        self._drawn: tuple[str, str] = ("", "")
        self._next = 0.0

    def begin(self, size: int) -> None:
        """From now on so many ranks tell something."""
        self.ranks = [OfRank() for _ in range(size)]

    def note(self, text: str, *, instead: bool = False) -> None:
        """Show a sentence above the blocks, with `instead` in place of the last one."""
        if instead and self._notes:
            self._notes.pop()
        self._notes.append(text)
        if not _can_redraw() and not instead:
            print(text)
        self.draw(now=True)

    def draw(self, now: bool = False) -> None:
        """Redraw where something has changed, not too often."""
        if not _can_redraw() or (not now and time.monotonic() < self._next):
            return
        contents = self.html(), self.plain()
        if contents != self._drawn:
            update, self._id, self._drawn = self._id is not None, self._id or uuid4().hex, contents
            data = {"text/html": contents[0], "text/plain": contents[1]}
            publish_display_data(data, transient={"display_id": self._id}, update=update)
        self._next = time.monotonic() + max(OFTEN, len(contents[0]) / PACE)

    def finish(self) -> None:
        """Draw for the last time, and show figures and tables below."""
        self.status = ""
        if not _can_redraw() and (text := self.plain(notes=False)):
            print(text)
        self.draw(now=True)
        for rank, rank_output in enumerate(self.ranks):
            if rank_output.displays:
                label = f"rank {rank}"
                publish_display_data({"text/html": MACROS.note(label), "text/plain": f"{label}:"})
            for output in rank_output.displays:
                publish_display_data(dict(output["data"]), dict(output.get("metadata") or {}))

    def html(self) -> str:
        """All that is to be seen, escaped."""
        parts = [MACROS.note(note) for note in self._notes]
        for rank, rank_output in enumerate(self.ranks):
            if text := rank_output.tail.text:
                parts.append(MACROS.rank(f"rank {rank}", rank_output.tail.note, as_html(text)))
        if self.status:
            parts.append(MACROS.note(self.status))
        return "".join(parts)

    def plain(self, notes: bool = True) -> str:
        """The same as text: each line with its rank."""
        lines = list(self._notes) if notes else []
        for rank, rank_output in enumerate(self.ranks):
            if text := rank_output.tail.text:
                shown_lines = [*filter(None, [rank_output.tail.note]), *without_escapes(text).split("\n")]
                lines += [f"rank {rank} | {line}" for line in shown_lines]
        return "\n".join([*lines, *([self.status] if self.status else [])])


def _can_redraw() -> bool:
    """Whether this is a notebook's kernel; a terminal would print each drawing."""
    return getattr(get_ipython(), "kernel", None) is not None
