"""A page of the dashboard: what all runs came to, the newest first."""

from __future__ import annotations

import streamlit as st

from workshop.store.store import Store


def main() -> None:
    """Draw the page with Streamlit."""
    st.title("My workload")
    st.markdown("Every rank throws darts at a square. The share that hits the circle in it tells **pi**.")
    with Store.open() as store:
        runs = store.runs(workload="my_workload", status="completed", limit=20)
    if runs:
        st.dataframe([{"run": run.id, "by": run.submitted_by} | run.metrics for run in runs], hide_index=True)
    else:
        st.info("There is no run yet: start one on the page *Run*, or with `workshop run my_workload`.")
