"""What a mark of a figure stands for, shown where somebody clicks at it: its runs, and where their ranks were."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import streamlit as st
from parts import cards, frame

from workshop.core.errors import WorkshopError
from workshop.report.analysis.oversubscription import threads_of
from workshop.report.cards import Part
from workshop.report.machine_picture import machine_card

HOW = "Click at a mark to see its runs, and where their ranks were."


def picked(picks: Sequence[Part], event: Any, key: str) -> None:
    """Show the pick of the mark that was clicked at, if there is one."""
    chosen = place(event, len(picks))
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
                st.page_link("views/run.py", label=f"Run {run}", query_params={"run": str(run)})
        _rank_map(pick["runs"][0], key)


def place(event: Any, count: int) -> int | None:
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
        cards.show(card, f"picked-{key}")
