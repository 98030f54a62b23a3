"""A table of runs to pick from, and the filters above it."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from workshop.core import words
from workshop.core.placement import Placement
from workshop.pages import blocks, frame
from workshop.registry import workload_title
from workshop.report.sentences import STATUS, changed, took, who
from workshop.store.records import RunRecord

MOST = 300  # runs in the table
COLUMNS = {
    "Run": lambda run: f"/run?run={run.id}",
    "Status": lambda run: STATUS[run.status],
    "Workload": lambda run: workload_title(run.workload),
    "Settings": lambda run: ", ".join(changed(run.workload, run.params)) or "defaults",
    "Placement": lambda run: Placement.parse(run.placement).describe(),
    "Took": took,
    "Verdict": lambda run: (run.verdict or {}).get("verdict", ""),
    "Who": who,
    "When": lambda run: words.moment(run.queued_at),
}
CONFIG = {
    "Run": st.column_config.LinkColumn(display_text=r"run=(\d+)", width=60),
    "Verdict": st.column_config.TextColumn(width=240),
}


def pick(runs: Sequence[RunRecord], linked: Sequence[RunRecord]) -> list[RunRecord]:
    """The table; returns the runs that are picked, the `linked` ones to begin with."""
    return blocks.pick(runs, linked, COLUMNS, "runs", height=380, several=True, config=CONFIG)


def filtered() -> list[RunRecord]:
    """The filters; returns the newest runs that fit them."""
    sessions = {session.name: session.id for session in frame.store().sessions()}
    recent = frame.store().runs(limit=MOST)
    names = {workload_title(run.workload): run.workload for run in recent}
    people = sorted({who(run) for run in recent})
    session, workload, status, person = blocks.filters(
        {"Session": sessions, "Workload": sorted(names), "Status": STATUS, "Who": people}
    )
    runs = frame.store().runs(sessions.get(session), names.get(workload or ""), status, limit=MOST)
    return [run for run in runs if person in (None, who(run))]
