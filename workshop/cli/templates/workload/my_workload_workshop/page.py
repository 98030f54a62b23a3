"""A page of the dashboard: the results of all runs, the newest first."""

from __future__ import annotations

import streamlit as st

from workshop.web.pages import frame


def main() -> None:
    """Draw the page with Streamlit, and with the blocks of `workshop.web.pages`."""
    frame.heading(
        "My workload", "Every rank throws darts at a square. The share that hits the circle in it tells **pi**."
    )
    runs = frame.store().runs(workload="my_workload", status="completed", limit=20)
    for run in runs[:3]:
        frame.run_link(run.id, f"Run {run.id}")
    if runs:
        st.dataframe([{"run": run.id, "by": run.submitted_by} | run.metrics for run in runs], hide_index=True)
    else:
        st.info("There is no run yet: start one on the page *Run*, or with `workshop run my_workload`.")
