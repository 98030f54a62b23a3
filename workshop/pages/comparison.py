"""Two runs side by side: what was set differently, what came out, where the time went."""

from __future__ import annotations

from collections.abc import Mapping

import streamlit as st

from workshop.pages import blocks, cards, frame, links
from workshop.registry import workload_title
from workshop.report import comparison
from workshop.report.actions import without_options
from workshop.report.figures.curves import by_time
from workshop.report.panels import side_by_side
from workshop.report.sentences import who
from workshop.report.snapshot import Snapshot
from workshop.store.records import RunRecord

STEP, TIME = "by step", "by time"


def compare(first: RunRecord, second: RunRecord) -> None:
    """Show both runs as far as they have told something."""
    pair = (first, second)
    snapshots = {f"run {run.id}": Snapshot(frame.store(), run) for run in pair}
    headings = ["", *(f"run {run.id}" for run in pair)]
    for column, run in blocks.abreast(pair, 2):
        with column, st.container(border=True):
            links.run_link(
                run.id,
                f"**Run {run.id}** · {frame.plain(workload_title(run.workload))} · {frame.plain(who(run))}",
                icon=None,
            )
            verdict = run.verdict or {"verdict": run.status.capitalize(), "why": "", "next": ""}
            st.markdown(f"##### {frame.plain(verdict['verdict'])}\n\n{frame.plain(without_options(verdict['why']))}")
    st.markdown("#### Set differently")
    if rows := comparison.settings(pair):
        cards.table(headings, rows)
    else:
        st.markdown("Nothing: whatever differs is chance, or the machine.")
    _curves(snapshots)
    _cards(snapshots)
    st.markdown("#### What came out")
    different, same = comparison.results(pair)
    if not different and not same:
        st.markdown("Neither has come to an end with results.")
    if different:
        cards.table(headings, different)
    if same:
        with st.expander(f"The same in both: {len(same)}"):
            cards.table(headings, same)


def _curves(snapshots: Mapping[str, Snapshot]) -> None:
    """Each curve of both runs in one plot."""
    names = comparison.curves(snapshots.values())
    if not names:
        return
    by = st.segmented_control("Curves", [STEP, TIME], default=STEP, required=True, label_visibility="collapsed")
    for column, name in blocks.abreast(names, 2):
        with column:
            plot = comparison.curve(snapshots, name)
            st.markdown(f"#### {frame.plain(name[0].upper() + name[1:])}")
            st.plotly_chart(by_time(plot) if by == TIME else plot, key=f"overlay-{name}", **cards.FIGURE)


def _cards(snapshots: Mapping[str, Snapshot]) -> None:
    """The same card of both runs beside each other."""
    cards_of_runs = {
        label: {card.name: card for card in side_by_side(snapshot)} for label, snapshot in snapshots.items()
    }
    for name in dict.fromkeys(name for of_run in cards_of_runs.values() for name in of_run):
        for column, (label, of_run) in blocks.abreast(list(cards_of_runs.items()), 2):
            with column:
                if name in of_run:
                    cards.show(of_run[name], label.replace(" ", "-"))
