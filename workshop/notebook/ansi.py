"""A terminal's colours as HTML."""

from __future__ import annotations

import re
from html import escape

from rich.color import parse_rgb_hex
from rich.console import Console
from rich.style import Style
from rich.terminal_theme import TerminalTheme
from rich.text import Text

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
    coloured = Text.from_ansi(_NO_COLOURS.sub(lambda found: found[1] or "", text))
    return "".join(
        f'<span style="{rules}">{escape(words)}</span>' if style and (rules := _rules(style)) else escape(words)
        for words, style, _ in coloured.render(_CONSOLE)
    )


def _rules(style: Style) -> str:
    """A style as CSS. Where a terminal would use its own colour, the page's stays."""
    colour, ground = (one if one and not one.is_default else None for one in (style.color, style.bgcolor))
    return (style.without_color + Style(color=colour, bgcolor=ground)).get_html_style(_THEME)
