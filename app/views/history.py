"""History: all runs, filters, two of them side by side. `?compare=3,5` is a link to two."""

import time
from contextlib import suppress

import streamlit as st
from parts.compare import compare

from workshop.core import words
from workshop.core.errors import WorkshopError
from workshop.core.placement import Placement
from workshop.pages import frame
from workshop.report.wording import STATUS, dumps, seen, who
from workshop.server.numbers import number
from workshop.store.records import RunRecord

MOST = 300  # runs in the table
ALL = "all"


def main() -> None:
    frame.heading("History")
    chosen = _linked()
    runs = _filtered()
    if not runs and not chosen:
        st.info("No run fits. Start one on the *Run* page, or widen the filters.", icon=":material/info:")
        return
    picked = _table(runs, chosen)
    if picked:
        st.query_params["compare"] = ",".join(str(run.id) for run in picked)
    elif "compare" in st.query_params:
        del st.query_params["compare"]
    if len(picked) == 2:
        compare(*picked)
    elif len(picked) == 1:
        st.caption("Pick a second run to compare the two.")
    else:
        st.caption("Pick one run to export it, two to compare them.")
    _export(picked)


def _linked() -> list[RunRecord]:
    """The runs that the address names, as far as they exist."""
    found = []
    for given in st.query_params.get("compare", "").split(",")[:2]:
        with suppress(WorkshopError, ValueError):
            found.append(frame.store().run(number(given)))
    return found


def _filtered() -> list[RunRecord]:
    store = frame.store()
    sessions = {session.name: session.id for session in store.sessions()}
    recent = store.runs(limit=MOST)
    columns = st.columns(4)
    session = columns[0].selectbox("Session", [ALL, *sessions])
    workload = columns[1].selectbox("Workload", [ALL, *sorted({run.workload for run in recent})])
    status = columns[2].selectbox("Status", [ALL, *STATUS])
    people = columns[3].selectbox("Who", [ALL, *sorted({who(run) for run in recent})])
    found = store.runs(
        session_id=sessions.get(session),
        workload=None if workload == ALL else workload,
        status=None if status == ALL else status,
        limit=MOST,
    )
    return [run for run in found if people in (ALL, who(run))]


def _table(runs: list[RunRecord], chosen: list[RunRecord]) -> list[RunRecord]:
    """The table of runs. Returns the runs that are picked, at most two, in the table's order."""
    shown = [*runs, *(run for run in chosen if run.id not in {run.id for run in runs})]
    ids = [run.id for run in shown]
    event = st.dataframe(
        {
            "Run": [f"/run?run={run.id}" for run in shown],
            "Status": [STATUS[run.status] for run in shown],
            "Workload": [run.workload for run in shown],
            "Settings": [_settings(run) for run in shown],
            "Placement": [Placement.parse(run.placement).describe() for run in shown],
            "Took": [_took(run) for run in shown],
            "Verdict": [(run.verdict or {}).get("verdict", "") for run in shown],
            "Who": [who(run) for run in shown],
            "When": [time.strftime("%d %b %H:%M", time.localtime(run.queued_at)) for run in shown],
        },
        column_config={
            "Run": st.column_config.LinkColumn(display_text=r"run=(\d+)", width=60),
            "Verdict": st.column_config.TextColumn(width=240),
        },
        hide_index=True,
        height=min(38 * (len(shown) + 1) + 3, 380),
        selection_mode="multi-row",
        selection_default={"selection": {"rows": [ids.index(run.id) for run in chosen]}},
        on_select="rerun",
        key="runs",
    )
    rows = [row for row in event.selection.rows if row < len(shown)]
    if len(rows) > 2:
        st.warning("Two runs can be compared at a time; these are the first two that you picked.")
    return [shown[row] for row in rows[:2]]


def _settings(run: RunRecord) -> str:
    """The settings that are not the workload's defaults."""
    from workshop.registry import workloads

    known = workloads().get(run.workload)
    defaults = {name: field.default for name, field in known.params.model_fields.items()} if known else {}
    params = seen(run).params
    changed = {name: value for name, value in params.items() if name not in defaults or defaults[name] != value}
    return ", ".join(f"{name} {value}" for name, value in changed.items()) or "defaults"


def _took(run: RunRecord) -> str:
    if run.started_at is None or run.finished_at is None:
        return ""
    return words.seconds(max(run.finished_at - run.started_at, 0.0))


def _export(picked: list[RunRecord]) -> None:
    with st.container(horizontal=True):
        for run in picked:
            st.download_button(
                f"Run {run.id} as JSON",
                dumps(seen(run).as_json()),
                f"run-{run.id}.json",
                "application/json",
                icon=":material/download:",
            )


main()
