"""Blocks of several pages: what the address names, tables to pick from, filters, columns, questions before something is
done, errors as sentences, downloads."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

import streamlit as st

from workshop.core.errors import WorkshopError
from workshop.core.placement import Placement
from workshop.store.records import Identity, RunRecord, SessionRecord, StudyRecord
from workshop.web import actions
from workshop.web.pages import frame
from workshop.web.templates import render

ALL = "all"
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


def filters(options: Mapping[str, Iterable[str]]) -> list[str | None]:
    """A box for each filter, all in a row; returns what is chosen, None for all."""
    boxes = zip(st.columns(len(options)), options.items(), strict=True)
    chosen = [column.selectbox(name, [ALL, *values]) for column, (name, values) in boxes]
    return [None if option == ALL else option for option in chosen]


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
    label = f"Start {session.name} again ({placement.describe()})"
    if st.button(label, type="primary", icon=":material/rocket_launch:", key="start-again"):
        with errors():
            actions.launch(frame.store(), identity, session.name, placement.as_json(), session.limits)
            st.query_params["session"] = session.name
            st.rerun()
