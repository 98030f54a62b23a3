"""Cards as they are, not live: on the pages of studies, and of two runs side by side."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from html import escape
from typing import Any

import plotly.graph_objects as go
import streamlit as st

from workshop.core.errors import WorkshopError
from workshop.pages import frame, links
from workshop.report.analysis.oversubscription import threads_of
from workshop.report.cards import Card, Part
from workshop.report.machine_picture import machine_card

LONG = 14  # rows of a table above which it scrolls
HOW = "Click at a mark to see its runs, and where their ranks were."
SENTENCE = 40  # characters from which a cell holds one
BESIDE = 0.62  # of a page's width is what a picture has beside another one
FIGURE: dict[str, Any] = {"theme": None, "config": {"displayModeBar": False}}


def show(card: Card, key: str) -> None:
    """Draw a card beside others; `key` is its own on the page."""
    if card.title:
        st.markdown(f"#### {frame.plain(card.title)}")
    for number, part in enumerate(card.parts):
        _PARTS[part["kind"]](part, f"{key}-{card.name}-{number}")


def show_page(cards: Sequence[Card], key: str) -> None:
    """Draw cards one below the other, those that are half as wide in twos, each in a box."""
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
                if card.title:
                    st.markdown(f"#### {frame.plain(card.title)}")
                for number, part in enumerate(card.parts):
                    draw = _whole if part["kind"] == "figure" else _PARTS[part["kind"]]
                    draw(part, f"{key}-{card.name}-{number}")


def _words(part: Part, key: str) -> None:
    for line in part["lines"]:
        label = f"**{frame.plain(line['label'])}** " if line["label"] else ""
        if line["tone"] in ("about", "label"):
            st.caption(f"{label}{frame.plain(line['text'])}")
        else:
            st.markdown(f"{'#### ' if line['tone'] == 'heading' else ''}{label}{frame.plain(line['text'])}")


def _whole(part: Part, key: str) -> None:
    """A figure on the whole width. On a phone, one whose words need more than that scrolls, see style.css; a mark that
    is clicked at shows what it stands for."""
    with st.container(key=f"wide-{key}" if part["width"] else None):
        if "picks" not in part:
            st.plotly_chart(part["figure"], key=key, **FIGURE)
            return
        event = st.plotly_chart(part["figure"], key=key, on_select="rerun", selection_mode="points", **FIGURE)
    _picked(part["picks"], event, key)


def _picked(picks: Sequence[Part], event: Any, key: str) -> None:
    """What a mark of a figure stands for, where somebody clicked at one: its runs, and where their ranks were."""
    chosen = picked_place(event, len(picks))
    if chosen is None or not picks[chosen]:
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
        _rank_map(pick["runs"][0], key)


def picked_place(event: Any, count: int) -> int | None:
    """The place among the picks that a chart's selection names; None where nothing is selected."""
    points = event.selection.points if event else []
    if not points:
        return None
    given = points[0].get("customdata")
    given = given[0] if isinstance(given, list | tuple) and given else given
    return given if isinstance(given, int) and 0 <= given < count else None


def _rank_map(run_id: int, key: str) -> None:
    try:
        run = frame.store().run(run_id)
    except WorkshopError as error:
        st.error(frame.plain(str(error)))
        return
    for card in machine_card(f"Where the ranks of run {run_id} were", run.machine, run.rank_map, threads_of(run)):
        show(card, f"picked-{key}")


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
    looks = "ws-small" if part["small"] else "ws-photos ws-wide" if part["wide"] else "ws-photos"
    st.html(f'<div class="{looks}">{"".join(shown)}</div>')


def _tiles(part: Part, key: str) -> None:
    st.markdown(" · ".join(f"{frame.plain(one['label'])} **{frame.plain(one['value'])}**" for one in part["tiles"]))


def _code(part: Part, key: str) -> None:
    st.code(part["text"], language="bash", wrap_lines=True)


def _links(part: Part, key: str) -> None:
    shown = " · ".join(f"{_link(one)} {escape(one['note'])}" for one in part["links"])
    st.html(f"<p>{shown}</p>")


def _fold(part: Part, key: str) -> None:
    with st.expander(frame.plain(part["title"])):
        st.text(part["text"])


def _table(part: Part, key: str) -> None:
    table(part["headings"], part["rows"])


def table(headings: Sequence[str], rows: Sequence[Sequence[str | Mapping[str, Any]]]) -> None:
    """A table of plain text and links, which scrolls where it doesn't fit."""

    def row(cells: Sequence[str | Mapping[str, Any]], tag: str) -> str:
        return f"<tr>{''.join(f'<{tag}{_look(cell)}>{_cell(cell)}</{tag}>' for cell in cells)}</tr>"

    body = "".join(row(cells, "td") for cells in rows)
    head = row(headings, "th")
    long = " ws-long" if len(rows) > LONG else ""
    st.html(f'<div class="ws-still{long}"><table><thead>{head}</thead><tbody>{body}</tbody></table></div>')


def _look(cell: str | Mapping[str, Any]) -> str:
    """Sentences get some width, so that they don't make their row high."""
    return ' class="ws-text"' if isinstance(cell, str) and len(cell) > SENTENCE else ""


def _cell(cell: str | Mapping[str, Any]) -> str:
    if isinstance(cell, str):
        return escape(cell)
    return " ".join(map(_link, cell["links"])) if "links" in cell else escape(cell["text"])


def _link(one: Mapping[str, Any]) -> str:
    return f'<a href="{escape(one["url"])}" target="_self">{escape(one["text"])}</a>'


_PARTS: dict[str, Callable[[Part, str], None]] = {
    "words": _words,
    "figure": _figure,
    "pictures": _pictures,
    "tiles": _tiles,
    "code": _code,
    "links": _links,
    "fold": _fold,
    "table": _table,
}
