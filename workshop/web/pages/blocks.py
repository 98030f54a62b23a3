"""Blocks of several pages: what the address names, tables to pick from, columns, questions before something is done,
errors as sentences, downloads, and cards that aren't live."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

import plotly.graph_objects as go
import streamlit as st

from workshop.core.errors import WorkshopError
from workshop.core.placement import Placement
from workshop.report import html
from workshop.report.analysis.threads import threads_of
from workshop.report.cards import Card, Part
from workshop.report.machine_picture import machine_card
from workshop.store.records import Identity, RunRecord, SessionRecord, StudyRecord
from workshop.web import actions
from workshop.web.pages import frame
from workshop.web.pages.live import draw_figure
from workshop.web.templates import render

ROW, EDGE = 36, 39  # pixels of a table's row, and of its heading with the borders


T = TypeVar("T")
R = TypeVar("R", bound=RunRecord | StudyRecord)


@contextmanager
def errors() -> Iterator[None]:
    """Show a WorkshopError as a sentence on the page, and leave out the rest of the block. Lines stay lines: an MPI's
    own words have several."""
    try:
        yield
    except WorkshopError as error:
        st.error(frame.plain(str(error)).replace("\n", "  \n"))


def linked(name: str, find: Callable[[int], T], otherwise: str) -> T | None:
    """What the address names, such as `?run=3`; None where it names nothing.

    Where there is no such thing, the page says so in a sentence that ends with `otherwise`.
    """
    text = st.query_params.get(name)
    if text is None:
        return None
    try:
        return find(number(text))
    except WorkshopError:
        st.warning(f"There is no {name} {frame.plain(text[:40])}; {otherwise}.")
        return None


def number(text: str) -> int:
    """The number in an address; 0, which nothing has, for any other text."""
    return int(text) if re.fullmatch(r"\s*[0-9]{1,18}\s*", text) else 0


def place(name: str, count: int) -> int:
    """The place, from 0, of `count` that the address names from 1, such as `?part=3`; the nearest one for others."""
    return min(max(number(st.query_params.get(name, "1")), 1), count) - 1


def pick(
    records: Sequence[R],
    chosen: Sequence[R],
    columns: Mapping[str, Callable[[R], Any]],
    key: str,
    *,
    height: int,
    several: bool = False,
    config: Mapping[str, Any] | None = None,
) -> list[R]:
    """A table in which records can be picked; returns the picked ones in the table's order.

    `chosen` records are picked to begin with, and stand in the table even if they are not among the others. `columns`
    have the value of each cell, `config` says how Streamlit shows a column.
    """
    by_id = {record.id: record for record in (*records, *chosen)}
    offered, ids = list(by_id.values()), list(by_id)
    begin = [ids.index(record) for record in dict.fromkeys(record.id for record in chosen)]
    event = st.dataframe(
        {heading: [value(record) for record in offered] for heading, value in columns.items()},
        column_config=config,
        hide_index=True,
        height=min(ROW * len(offered) + EDGE, height),
        selection_mode="multi-row" if several else "single-row",
        selection_default={"selection": {"rows": begin}},
        on_select="rerun",
        key=key,
    )
    return [offered[row] for row in event.selection.rows if row < len(offered)]


def abreast(items: Sequence[T], count: int) -> Iterator[tuple[Any, T]]:
    """Each item with a column for it; `count` of them share a row."""
    for first in range(0, len(items), count):
        yield from zip(st.columns(count, gap="medium"), items[first : first + count], strict=False)


def confirmed(label: str, icon: str, words: str, yes: str, key: str | None = None) -> bool:
    """A button that says in Markdown what would happen, and asks; returns whether somebody has just said yes. The
    question is closed when the page is drawn the next time, since it has another key then."""
    count = f"confirmed-{key or label}"
    with st.popover(label, icon=icon, key=f"{count}-{st.session_state.setdefault(count, 0)}"):
        st.markdown(words)
        said_yes = st.button(yes, type="primary", key=key)
    st.session_state[count] += said_yes
    return said_yes


def leave(address: str) -> None:
    """Have the browser go to an address outside Streamlit, such as a quiz."""
    st.html(render("dashboard/redirect", address=address), unsafe_allow_javascript=True)


def download(label: str, data: str | Callable[[], bytes], name: str, media_type: str) -> None:
    """A button that downloads a file. A function makes the file when somebody asks for it."""
    st.download_button(label, data, name, media_type, icon=":material/download:", on_click="ignore", key=name)


def start_again(session: SessionRecord, identity: Identity) -> None:
    """The instructor's button that launches a session of this machine that has ended once more, with its own placement
    and limits. One over several hosts or Slurm is started on the command line."""
    if session.site.get("kind", "local") != "local":
        return
    placement = Placement.parse(session.placement)
    label = f"Start {session.name} again"
    if st.button(label, type="primary", icon=":material/rocket_launch:", key="start-again"):
        with errors():
            actions.launch(frame.store(), identity, session.name, placement.as_json(), session.limits)
            st.query_params["session"] = session.name
            st.rerun()


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
                frame.run_link(run, f"Run {run}", icon=None)
        with errors():
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
