"""Cards that aren't live: on pages of studies, and of two runs side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import plotly.graph_objects as go
import streamlit as st

from workshop.report import html
from workshop.report.analysis.threads import threads_of
from workshop.report.cards import Card, Part
from workshop.report.machine_picture import machine_card
from workshop.web.pages import blocks, frame, links
from workshop.web.pages.live import draw_figure

HOW = "Click at a mark to see its runs, and where their ranks were."
BESIDE = 0.62  # of a page's width is what a picture has beside another one
NATIVE = ("figure", "code")  # kinds of parts that Streamlit draws: code gets a button that copies it


def show(card: Card, key: str, full_width: bool = False) -> None:
    """Draw a card beside others, or with `full_width` over the whole page. `key` is unique on the page."""
    if card.title:
        _html(html.title(card))
    for number, piece in enumerate(html.pieces(card.parts, NATIVE)):
        if isinstance(piece, str):
            _html(piece)
        elif piece["kind"] == "code":
            st.code(piece["text"], language="bash", wrap_lines=True)
        else:
            (_wide_figure if full_width else _figure)(piece, f"{key}-{card.name}-{number}")


def show_page(cards: Sequence[Card], key: str) -> None:
    """Draw cards one below the other, each in a box; two cards of half the width share a row."""
    rows: list[list[Card]] = []
    for card in cards:
        if card.half and rows and len(rows[-1]) == 1 and rows[-1][0].half:
            rows[-1].append(card)
        else:
            rows.append([card])
    for row in rows:
        columns = st.columns(2, gap="medium") if row[0].half else [st.container()]
        for column, card in zip(columns, row, strict=False):
            with column, st.container(border=True, key=f"card-{card.tone or 'plain'}-{key}-{card.name}"):
                show(card, key, full_width=True)


def table(headings: Sequence[str], rows: Sequence[Sequence[str | Mapping[str, Any]]]) -> None:
    """A table of plain text and links, which scrolls where it doesn't fit."""
    _html(html.table(headings, rows))


def _html(html: str) -> None:
    st.html(f'<div class="ws">{html}</div>')


def _wide_figure(part: Part, key: str) -> None:
    """A figure over the whole width. On a phone, a figure whose words need more width scrolls, see style.css. A click
    on a mark shows its details."""
    with st.container(key=f"wide-{key}" if part["width"] else None):
        picked = draw_figure(part["figure"], key, picks="picks" in part)
        _html(html.data(part["figure"]))
    if "picks" in part:
        _picked(part["picks"], picked, key)


def _picked(picks: Sequence[Part], chosen: Any, key: str) -> None:
    """The meaning of the mark that was clicked at: its runs, and the places of their ranks."""
    if not isinstance(chosen, int) or not 0 <= chosen < len(picks) or not picks[chosen]:
        st.caption(HOW)
        return
    pick = picks[chosen]
    with st.container(border=True, key=f"picked-{key}"):
        st.markdown(f"**{frame.plain(pick['title'])}** · {frame.plain(pick['text'])}")
        if not pick["runs"]:
            return
        with st.container(horizontal=True):
            for run in pick["runs"]:
                links.run_link(run, f"Run {run}", icon=None)
        with blocks.errors():
            run = frame.store().run(pick["runs"][0])
            title = f"Where the ranks of run {run.id} were"
            for card in machine_card(title, run.machine, run.rank_map, threads_of(run)):
                show(card, f"picked-{key}")


def _figure(part: Part, key: str) -> None:
    plot = part["figure"]
    if part["width"]:  # laid out with words for a whole page
        plot = go.Figure(plot)
        plot.update_layout(height=max(BESIDE * plot.layout.height, 150))
        plot.for_each_annotation(lambda note: note.update(font_size=max(BESIDE * note.font.size, 6)))
    draw_figure(plot, key)
    _html(html.data(plot))
