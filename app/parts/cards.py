"""Cards of a run's page as they are, not live: for pages that show two runs side by side."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape
from typing import Any

import plotly.graph_objects as go
import streamlit as st
from parts import frame

from workshop.web.cards import Card, Part

BESIDE = 0.62  # of a page's width is what a picture has beside another one
FIGURE: dict[str, Any] = {"theme": None, "config": {"displayModeBar": False}}


def show(card: Card, key: str) -> None:
    """Draw a card; `key` is its own on the page."""
    if card.title:
        st.markdown(f"#### {frame.plain(card.title)}")
    for number, part in enumerate(card.parts):
        _PARTS[part["kind"]](part, f"{key}-{card.name}-{number}")


def _words(part: Part, key: str) -> None:
    for line in part["lines"]:
        label = f"**{frame.plain(line['label'])}** " if line["label"] else ""
        st.markdown(f"{label}{frame.plain(line['text'])}")


def _figure(part: Part, key: str) -> None:
    drawn = part["figure"]
    if part["width"]:  # laid out with words for a whole page
        drawn = go.Figure(drawn)
        drawn.update_layout(height=max(BESIDE * drawn.layout.height, 150))
        drawn.for_each_annotation(lambda note: note.update(font_size=max(BESIDE * note.font.size, 6)))
    st.plotly_chart(drawn, key=key, **FIGURE)


def _pictures(part: Part, key: str) -> None:
    shown = (
        f'<figure><img src="{escape(picture["url"])}" alt="{escape(picture["label"])}">'
        f"<figcaption>{escape(picture['label'])} {escape(picture['note'])}</figcaption></figure>"
        for picture in part["pictures"]
    )
    st.html(f'<div class="ws-{"small" if part["small"] else "photos"}">{"".join(shown)}</div>')


def _tiles(part: Part, key: str) -> None:
    st.markdown(" · ".join(f"{frame.plain(one['label'])} **{frame.plain(one['value'])}**" for one in part["tiles"]))


def _table(part: Part, key: str) -> None:
    rows = [[cell if isinstance(cell, str) else cell["text"] for cell in row] for row in part["rows"]]
    table(part["headings"], rows)


def table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """A table of plain text, which scrolls where it doesn't fit."""

    def row(cells: Sequence[str], tag: str) -> str:
        return f"<tr>{''.join(f'<{tag}>{escape(cell)}</{tag}>' for cell in cells)}</tr>"

    body = "".join(row(cells, "td") for cells in rows)
    head = row(headings, "th")
    st.html(f'<div class="ws-still"><table><thead>{head}</thead><tbody>{body}</tbody></table></div>')


_PARTS: dict[str, Callable[[Part, str], None]] = {
    "words": _words,
    "figure": _figure,
    "pictures": _pictures,
    "tiles": _tiles,
    "table": _table,
}
