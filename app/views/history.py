"""History: all runs, filters, two to five of them side by side. `?compare=3,5` is a link to two, with the
first as the baseline."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress

import streamlit as st

from workshop.core import words
from workshop.core.errors import WorkshopError
from workshop.core.placement import Placement
from workshop.registry import workload_title
from workshop.report import comparison
from workshop.report.actions import without_options
from workshop.report.figures.line import by_time
from workshop.report.panels import overlaid, side_by_side
from workshop.report.sentences import STATUS, changed, dumps, public_view, took, who
from workshop.report.snapshot import Snapshot
from workshop.store.records import RunRecord
from workshop.web.pages import blocks, frame
from workshop.web.pages.live import draw_figure

MOST_RUNS = 300  # runs in the table
COLUMNS = {
    "Run": lambda run: f"run?run={run.id}",
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
ALL = "all"
STEP, TIME = "by step", "by time"
ABREAST = 3  # runs in a row, at most


def page() -> None:
    frame.heading("All runs")
    linked, runs = _linked(), _filtered()
    if not runs and not linked:
        st.info("No run fits. Start one on the *Run* page, or widen the filters.", icon=":material/info:")
        return
    first = [run.id for run in linked]  # those that were picked first stay first
    picked = blocks.pick(runs, linked, COLUMNS, "runs", height=380, several=True, config=CONFIG)
    picked.sort(key=lambda run: first.index(run.id) if run.id in first else len(first))
    if len(picked) > comparison.MOST_RUNS:
        st.warning(
            f"{comparison.MOST_RUNS} runs can be compared at a time; these are the first "
            f"{comparison.MOST_RUNS} that you picked."
        )
    picked = picked[: comparison.MOST_RUNS]
    if picked:
        st.query_params["compare"] = ",".join(str(run.id) for run in picked)
    else:
        st.query_params.pop("compare", None)
    if len(picked) > 1:
        _compare(picked)
    elif picked:
        st.caption("Pick a second run to compare the two, or up to five.")
    else:
        st.caption("Pick one run to export it, two to five to compare them.")
    with st.container(horizontal=True):
        for run in picked:
            data = dumps(public_view(run).as_json())
            blocks.download(f"Run {run.id} as JSON", data, f"run-{run.id}.json", "application/json")


def _linked() -> list[RunRecord]:
    """The runs that the address names, as far as they exist."""
    runs = []
    for text in st.query_params.get("compare", "").split(",")[: comparison.MOST_RUNS]:
        with suppress(WorkshopError):
            runs.append(frame.store().run(blocks.number(text)))
    return runs


def _filtered() -> list[RunRecord]:
    """The filters; returns the newest runs that fit them."""
    sessions = {session.name: session.id for session in frame.store().sessions()}
    recent = frame.store().runs(limit=MOST_RUNS)
    names = {workload_title(run.workload): run.workload for run in recent}
    people = sorted({who(run) for run in recent})
    options = {"Session": sessions, "Workload": sorted(names), "Status": STATUS, "Who": people}
    boxes = zip(st.columns(len(options)), options.items(), strict=True)
    chosen = [column.selectbox(name, [ALL, *values]) for column, (name, values) in boxes]
    session, workload, status, person = (None if option == ALL else option for option in chosen)
    runs = frame.store().runs(sessions.get(session), names.get(workload or ""), status, limit=MOST_RUNS)
    return [run for run in runs if person in (None, who(run))]


def _compare(picked: Sequence[RunRecord]) -> None:
    """Show two to five runs as far as they have told something; the first is the baseline unless somebody chooses
    another one."""
    by_id = {run.id: run for run in picked}
    baseline = st.segmented_control(
        "Baseline", list(by_id), default=picked[0].id, required=True, format_func=lambda id: f"run {id}"
    )
    runs = [by_id.pop(baseline), *by_id.values()]
    snapshots = {f"run {run.id}": Snapshot(frame.store(), run) for run in runs}
    headings = ["", *snapshots]
    st.markdown("#### What differs")
    settings = comparison.settings(runs) or [("settings", *("the same" for _ in runs))]
    blocks.table(headings, [*settings, *comparison.figures(runs)])
    for column, run in blocks.abreast(runs, min(len(runs), ABREAST)):
        with column, st.container(border=True):
            title = frame.plain(workload_title(run.workload))
            frame.run_link(run.id, f"**Run {run.id}** · {title} · {frame.plain(who(run))}", icon=None)
            verdict = run.verdict or {"verdict": run.status.capitalize(), "why": "", "next": ""}
            why = frame.plain(without_options(verdict["why"]))
            st.markdown(f"##### {frame.plain(verdict['verdict'])}\n\n{why}")
    _curves(snapshots)
    for column, card in blocks.abreast(overlaid(snapshots), 2):
        with column:
            blocks.show(card, "overlay")
    details = st.expander("Card by card", on_change="rerun", key="card-by-card")
    if details.open:
        with details:
            _side_by_side(snapshots)
    different, same = comparison.results(runs)
    with st.expander("All results"):
        if different or same:
            blocks.table(headings, [*different, *same])
        else:
            st.markdown("None has come to an end with results.")


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
            draw_figure(by_time(plot) if by == TIME else plot, f"overlay-{name}")


def _side_by_side(snapshots: Mapping[str, Snapshot]) -> None:
    """The same card of all runs beside each other."""
    cards_of_runs = {
        label: {card.name: card for card in side_by_side(snapshot)} for label, snapshot in snapshots.items()
    }
    for name in dict.fromkeys(name for of_run in cards_of_runs.values() for name in of_run):
        parts = [part for of_run in cards_of_runs.values() if name in of_run for part in of_run[name].parts]
        comparison.on_one_scale([part["figure"] for part in parts if part["kind"] == "figure"])
        for column, (label, of_run) in blocks.abreast(list(cards_of_runs.items()), min(len(cards_of_runs), ABREAST)):
            with column:
                if name in of_run:
                    blocks.show(of_run[name], label.replace(" ", "-"))
