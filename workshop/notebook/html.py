"""Cards as a notebook shows them: HTML that looks right in light and dark themes, and figures.

Everything that people or programs wrote is escaped. Lists of a page's links are left out: they lead to the dashboard,
which whoever reads a notebook may not have.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from html import escape
from typing import Any
from urllib.parse import unquote

import plotly.graph_objects as go

from workshop.notebook import pictures
from workshop.report.cards import Card, Part
from workshop.report.snapshot import Snapshot

Piece = str | go.Figure  # HTML, or a figure

INK = "var(--jp-content-font-color1, #16232e)"
MUTED = "var(--jp-content-font-color2, #566573)"
LINE = "var(--jp-border-color2, #d5dde4)"
TITLE = 28  # pixels above a figure
TONES = {"alarm": "color:#b3261e", "message": "color:#b3261e", "about": f"color:{MUTED}", "note": f"color:{MUTED}"}
ALL = 1_000_000  # characters that the pictures of a card may take up in a notebook's file
LEFT_OUT = "is too large to be shown here: it is on the run's page"

_ARTIFACT = re.compile(r"/artifact/\d+/([^?]+)")


def box(inner: str, colour: str = "#0b5c7a") -> str:
    """A frame with a bar of a colour on its left."""
    return (
        f'<div style="border-left:4px solid {colour};padding:2px 0 2px 12px;margin:4px 0;max-width:70em;'
        f'line-height:1.45;color:{INK}">{inner}</div>'
    )


def line(text: str, label: str = "", tone: str = "") -> str:
    """A paragraph; `text` is plain."""
    style = "font-size:115%;font-weight:600" if tone == "heading" else TONES.get(tone, "")
    before = f"<b>{escape(label)}</b> " if label else ""
    return f'<div style="{style}">{before}{escape(text)}</div>'


def muted(text: str) -> str:
    return f'<span style="color:{MUTED}">{escape(text)}</span>'


def link(url: str, text: str) -> str:
    return f'<a href="{escape(url)}" target="_blank" rel="noopener">{escape(text)}</a>'


def tiles(shown: Iterable[tuple[str, str]]) -> str:
    """Values under their labels, in a row."""
    made = "".join(
        f'<span style="display:inline-block;margin:4px 24px 4px 0"><small style="color:{MUTED}">{escape(label)}</small>'
        f'<br><span style="font-size:115%">{escape(value)}</span></span>'
        for label, value in shown
    )
    return f"<div>{made}</div>"


def table(headings: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """A table; cells are text, or mappings as cards have them."""
    look = f"padding:3px 14px 3px 0;text-align:left;border-bottom:1px solid {LINE};vertical-align:top"

    def row(cells: Sequence[Any], tag: str) -> str:
        made = (f'<{tag} style="{look}">{_cell(cell)}</{tag}>' for cell in cells)
        return f"<tr>{''.join(made)}</tr>"

    body = "".join(row(cells, "td") for cells in rows)
    return (
        f'<div style="overflow-x:auto"><table style="border-collapse:collapse;color:{INK}"><thead>'
        f"{row(headings, 'th')}</thead><tbody>{body}</tbody></table></div>"
    )


def text_table(headings: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """The same in plain text, in columns."""
    cells = [[_text(cell) for cell in row] for row in (headings, *rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in cells
    )


def pieces(cards: Iterable[Card], snapshot: Snapshot | None = None) -> Iterator[Piece]:
    """Cards as pieces, one after the other; `snapshot` has the pictures that they name."""
    for card in cards:
        if card.title:
            yield f'<div style="font-weight:600;margin-top:8px;color:{INK}">{escape(card.title)}</div>'
        for part in card.parts:
            if part["kind"] == "figure":
                yield part["figure"]
            elif part["kind"] == "pictures":
                yield _pictures(part, snapshot)
            elif part["kind"] in _PARTS:
                yield _PARTS[part["kind"]](part)


def figures(cards: Iterable[Card]) -> dict[str, go.Figure]:
    """The figures of cards by the cards' names, under the cards' titles; further ones of a card have a number behind
    it."""
    found: dict[str, go.Figure] = {}
    for card in cards:
        drawn = [part["figure"] for part in card.parts if part["kind"] == "figure"]
        for number, one in enumerate(drawn, 1):
            found.setdefault(card.name if number == 1 else f"{card.name}-{number}", titled(one, card.title))
    return found


def titled(drawn: go.Figure, title: str) -> go.Figure:
    """A figure with a title above it, as it stands alone; its plot stays as large as it was."""
    one = go.Figure(drawn)
    if not title or one.layout.title.text:
        return one
    above, height = one.layout.margin.t or 0, one.layout.height
    place = {"x": 0, "xref": "paper", "y": 1, "yref": "container", "yanchor": "top", "pad": {"t": 6}}
    one.update_layout(title={"text": escape(title), "font": {"size": 15}, **place}, margin_t=above + TITLE)
    return one if height is None else one.update_layout(height=height + TITLE)


def said(cards: Iterable[Card]) -> str:
    """What cards say in words and tables, as plain text."""
    told = []
    for card in cards:
        for part in card.parts:
            if part["kind"] == "words":
                told += [f"{one['label']} {one['text']}".strip() for one in part["lines"]]
            elif part["kind"] == "table":
                told.append(text_table(part["headings"], part["rows"]))
    return "\n".join(told)


def _words(part: Part) -> str:
    lines = (line(one["text"], one["label"], one["tone"]) for one in part["lines"])
    return f'<div style="color:{INK}">' + "".join(lines) + "</div>"


def _text(cell: Any) -> str:
    if isinstance(cell, Mapping):
        return " ".join(one["text"] for one in cell["links"]) if "links" in cell else str(cell["text"])
    return str(cell)


def _cell(cell: Any) -> str:
    chip = ""
    if isinstance(cell, Mapping) and "colour" in cell:
        chip = f'<span style="color:{escape(cell["colour"])}">&#9632;</span> '
    return chip + escape(_text(cell))


def _pictures(part: Part, snapshot: Snapshot | None) -> str:
    least = "image-rendering:pixelated;width:64px" if part["small"] else "max-width:min(100%, 420px)"
    left, made = ALL, []
    for one in part["pictures"]:
        url = _source(one["url"], snapshot)
        words = escape(" ".join(filter(None, (one["label"], one["note"]))))
        if url is not None and not 0 < len(url) <= left:
            made.append(muted(f"{one['label']} {LEFT_OUT}."))
        elif url:
            left -= len(url)
            made.append(
                f'<figure style="display:inline-block;margin:4px 12px 4px 0"><img src="{escape(url)}" alt="{words}" '
                f'style="{least}"><figcaption style="color:{MUTED}"><small>{words}</small></figcaption></figure>'
            )
    return f"<div>{''.join(made)}</div>"


def _source(url: str, snapshot: Snapshot | None) -> str | None:
    """A picture with its bytes; empty for one that is too large, None for one that isn't there."""
    if url.startswith("data:image/"):
        return url
    found = _ARTIFACT.match(url)
    name = unquote(found[1]) if found else ""
    if (
        snapshot is None
        or name not in snapshot.artifacts
        or not snapshot.artifacts[name].media_type.startswith("image/")
    ):
        return None
    return pictures.address(snapshot.read(name), snapshot.artifacts[name].media_type)


_PARTS: dict[str, Callable[[Part], str]] = {
    "words": _words,
    "tiles": lambda part: tiles((one["label"], one["value"]) for one in part["tiles"]),
    "table": lambda part: table(part["headings"], part["rows"]),
    "code": lambda part: f"<pre>{escape(part['text'])}</pre>",
    "fold": lambda part: (
        f"<details><summary>{escape(part['title'])}</summary><pre>{escape(part['text'])}</pre></details>"
    ),
}
