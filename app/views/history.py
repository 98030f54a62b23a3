"""History: all runs, filters, two to five of them side by side. `?compare=3,5` is a link to two, with the
first as the baseline."""

from contextlib import suppress

import streamlit as st

from workshop.core.errors import WorkshopError
from workshop.pages import blocks, frame, run_list
from workshop.pages.comparison import compare
from workshop.report.comparison import MOST
from workshop.report.sentences import dumps, public_view
from workshop.server.numbers import number
from workshop.store.records import RunRecord


def page() -> None:
    frame.heading("History")
    linked, runs = _linked(), run_list.filtered()
    if not runs and not linked:
        st.info("No run fits. Start one on the *Run* page, or widen the filters.", icon=":material/info:")
        return
    first = [run.id for run in linked]  # those that were picked first stay first
    picked = run_list.pick(runs, linked)
    picked.sort(key=lambda run: first.index(run.id) if run.id in first else len(first))
    if len(picked) > MOST:
        st.warning(f"{MOST} runs can be compared at a time; these are the first {MOST} that you picked.")
    picked = picked[:MOST]
    if picked:
        st.query_params["compare"] = ",".join(str(run.id) for run in picked)
    else:
        st.query_params.pop("compare", None)
    if len(picked) > 1:
        compare(picked)
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
    for text in st.query_params.get("compare", "").split(",")[:MOST]:
        with suppress(WorkshopError, ValueError):
            runs.append(frame.store().run(number(text)))
    return runs
