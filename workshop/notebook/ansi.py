"""A terminal's colours as HTML."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from html import escape

# Selections of colours, then orders of other kinds, which are dropped.
_ESCAPES = re.compile(
    r"\x1b\[([0-9;]{0,60})m|\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[^\[\]]?|[\x00\b]"
)
_UNFINISHED = re.compile(r"\x1b(?:\[[0-9;?]*)?$")
# Of the terminal's eight colours; all can be read on white and on black.
_COLOURS = ("#6e7781", "#d1242f", "#2da44e", "#b08800", "#3b82f6", "#a475f9", "#1b9aaa", "#8c959f")


def without_escapes(text: str) -> str:
    """A text without its colours and other orders to a terminal."""
    return _ESCAPES.sub("", text)


def as_html(text: str) -> str:
    """A text as HTML, escaped, with its terminal's colours."""
    text = _UNFINISHED.sub("", text)
    parts: list[str] = []
    style: dict[str, str] = {}
    at = 0
    for found in _ESCAPES.finditer(text):
        parts.append(_styled(text[at : found.start()], style))
        at = found.end()
        if found[1] is not None:
            _select(found[1], style)
    parts.append(_styled(text[at:], style))
    return "".join(parts)


def _styled(text: str, style: Mapping[str, str]) -> str:
    if not style or not text:
        return escape(text)
    rules = ";".join(f"{name}:{value}" for name, value in style.items())
    return f'<span style="{rules}">{escape(text)}</span>'


def _select(codes: str, style: dict[str, str]) -> None:
    """Change the style as an escape sequence says (ECMA-48, SGR)."""
    numbers = [int(code or 0) for code in codes.split(";")]
    while numbers:
        match numbers.pop(0):
            case 0:
                style.clear()
            case 1:
                style["font-weight"] = "bold"
            case 3:
                style["font-style"] = "italic"
            case 4:
                style["text-decoration"] = "underline"
            case 22 | 23 | 24 as end:
                style.pop({22: "font-weight", 23: "font-style", 24: "text-decoration"}[end], None)
            case 38 | 48 as which:
                if colour := _colour(numbers):
                    style["color" if which == 38 else "background-color"] = colour
            case 39:
                style.pop("color", None)
            case 49:
                style.pop("background-color", None)
            case number if 30 <= number <= 37 or 90 <= number <= 97:
                style["color"] = _COLOURS[number % 10]
            case number if 40 <= number <= 47 or 100 <= number <= 107:
                style["background-color"] = _COLOURS[number % 10]


def _colour(numbers: list[int]) -> str | None:
    """Take a colour of 256 or of all from the numbers behind 38 or 48; None for one that we have none for."""
    kind = numbers.pop(0) if numbers else 0
    given: Sequence[int] = [numbers.pop(0) for _ in range(min({5: 1, 2: 3}.get(kind, 0), len(numbers)))]
    if kind == 2 and len(given) == 3:
        return f"rgb({','.join(str(min(one, 255)) for one in given)})"
    if kind == 5 and given:
        (index,) = given
        if index < 16:
            return _COLOURS[index % 8]
        if index < 232:
            red, green, blue = ((index - 16) // 36, (index - 16) // 6 % 6, (index - 16) % 6)
            return f"rgb({red * 51},{green * 51},{blue * 51})"
        grey = 8 + 10 * (min(index, 255) - 232)
        return f"rgb({grey},{grey},{grey})"
    return None
