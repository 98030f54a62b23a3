"""Runs side by side: the ratio to a baseline, what was set differently, what came out, where the time went."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

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
ABREAST = 3  # runs in a row, at most


def compare(picked: Sequence[RunRecord]) -> None:
    """Show two to five runs as far as they have told something; the first is the baseline unless somebody chooses
    another one."""
    by_id = {run.id: run for run in picked}
    baseline = st.segmented_control(
        "Baseline", list(by_id), default=picked[0].id, required=True, format_func=lambda id: f"run {id}"
    )
    runs = [by_id.pop(baseline), *by_id.values()]
    for sentence in comparison.ratios(runs[0], runs[1:]):
        st.markdown(f"#### {frame.plain(sentence)}")
    snapshots = {f"run {run.id}": Snapshot(frame.store(), run) for run in runs}
    headings = ["", *snapshots]
    for column, run in blocks.abreast(runs, min(len(runs), ABREAST)):
        with column, st.container(border=True):
            title = frame.plain(workload_title(run.workload))
            links.run_link(run.id, f"**Run {run.id}** · {title} · {frame.plain(who(run))}", icon=None)
            verdict = run.verdict or {"verdict": run.status.capitalize(), "why": "", "next": ""}
            why = frame.plain(without_options(verdict["why"]))
            st.markdown(f"##### {frame.plain(verdict['verdict'])}\n\n{why}")
    st.markdown("#### Set differently")
    if rows := comparison.settings(runs):
        cards.table(headings, rows)
    else:
        st.markdown("Nothing: whatever differs is chance, or the machine.")
    _curves(snapshots)
    _cards(snapshots)
    st.markdown("#### What came out")
    different, same = comparison.results(runs)
    if not different and not same:
        st.markdown("None has come to an end with results.")
    if different:
        cards.table(headings, different)
    if same:
        with st.expander(f"The same in all: {len(same)}"):
            cards.table(headings, same)


def _curves(snapshots: Mapping[str, Snapshot]) -> None:
    """Each curve of all runs in one plot."""
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
    """The same card of all runs beside each other."""
    cards_of_runs = {
        label: {card.name: card for card in side_by_side(snapshot)} for label, snapshot in snapshots.items()
    }
    for name in dict.fromkeys(name for of_run in cards_of_runs.values() for name in of_run):
        for column, (label, of_run) in blocks.abreast(list(cards_of_runs.items()), min(len(cards_of_runs), ABREAST)):
            with column:
                if name in of_run:
                    cards.show(of_run[name], label.replace(" ", "-"))
