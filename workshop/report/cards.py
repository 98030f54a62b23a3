"""Cards: what a run's page shows, made of a few kinds of parts. `html` and `terminal` render them. A part is a mapping
with its `kind`; whatever people wrote in it is text, never markup."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    import plotly.graph_objects as go  # which no command should wait for

Part = Mapping[str, Any]
Tone = Literal["", "about", "alarm", "heading", "label", "message", "note"]


@dataclass(frozen=True)
class Card:
    """A titled box. `name` is its own within the page and stays the same while its content changes."""

    name: str
    title: str
    parts: tuple[Part, ...]
    tone: Literal["", "verdict", "error", "machine"] = ""
    half: bool = False  # two of these fit beside each other where there is room
    switch: bool = False  # offers to draw the page's curves by step or by time


def line(text: str, label: str = "", tone: Tone = "") -> Part:
    """A paragraph of `words`, with a label in bold before it."""
    return {"text": text, "label": label, "tone": tone}


def paragraph(*lines: Part) -> Part:
    return {"kind": "words", "lines": list(lines)}


def about(text: str) -> Part:
    """An explanation of what stands beside it."""
    return paragraph(line(text, tone="about"))


def figure(plot: go.Figure, width: int = 0, picks: Sequence[Part] = (), label: str = "") -> Part:
    """A Plotly figure; `width` is the one in pixels that its words are laid out for, where that matters. Screen readers
    say `label`, or the card's title. `picks` are what its marks stand for, in the order of their `customdata`."""
    part = {"kind": "figure", "figure": plot, "width": width, "label": label}
    return part | {"picks": list(picks)} if picks else part


def pick(title: str, text: str, runs: Sequence[int]) -> Part:
    """The meaning of a figure's mark in words, and its runs. A click leads to the first run."""
    return {"title": title, "text": text, "runs": list(runs)}


def picture(url: str, label: str, note: str = "") -> Part:
    """One of `pictures`; the label is also what screen readers say."""
    return {"url": url, "label": label, "note": note}


def pictures(images: Sequence[Part], small: bool = False, wide: bool = False) -> Part:
    """Pictures in a row. `small`: ones of few pixels, in a grid with sharp pixels. `wide`: one below the other."""
    return {"kind": "pictures", "pictures": list(images), "small": small, "wide": wide}


def tiles(values: Sequence[Mapping[str, str]]) -> Part:
    """Values (`value`) under their labels (`label`); `exact` is shown to whoever points at a value."""
    return {"kind": "tiles", "tiles": list(values)}


def link(url: str, text: str, note: str = "", button: bool = False) -> Part:
    return {"url": url, "text": text, "note": note, "button": button}


def links(*targets: Part) -> Part:
    return {"kind": "links", "links": list(targets)}


def fold(title: str, text: str) -> Part:
    """Text as it stands, behind a fold."""
    return {"kind": "fold", "title": title, "text": text}


def code(text: str) -> Part:
    """A command, to be copied as it stands."""
    return {"kind": "code", "text": text}


def table(headings: Sequence[str], rows: Sequence[Sequence[str | Mapping[str, Any]]]) -> Part:
    """Rows of cells; a cell is text, text with a chip of a colour (`{"text": "rank 0", "colour": "#0072b2"}`), text
    with a bar (see `bar`), or links (`{"links": [link(…), …]}`)."""
    return {"kind": "table", "headings": list(headings), "rows": [list(row) for row in rows]}


def bar(share: float, text: str, look: Literal["", "good", "calm"] = "") -> Part:
    """A table's cell with a bar for a share of 0..1."""
    return {"text": text, "share": share, "look": look}


def markup(html: str) -> Part:
    """HTML that a renderer of Markdown has made safe."""
    return {"kind": "markup", "html": html}


def verdict(texts: Mapping[str, str], label: str = "Verdict", buttons: Sequence[Part] = ()) -> Card:
    """The card with verdict, why and next, and with links as `buttons`."""
    lines = (line(label, tone="label"), line(texts["verdict"], tone="heading"))
    parts = (paragraph(*lines, line(texts["why"], "Why"), line(texts["next"], "Next")),)
    return Card("verdict", "", (*parts, *([links(*buttons)] if buttons else ())), tone="verdict")
