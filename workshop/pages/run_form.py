"""The form of a new run: a workload, its params and a placement."""

from __future__ import annotations

import streamlit as st

from workshop.core.errors import BadInput
from workshop.core.forms import going_on, param_of_runs
from workshop.extension import Workload
from workshop.pages import blocks, frame
from workshop.pages.fields import UPLOAD, Uploads, model_form
from workshop.pages.placement import placement_form
from workshop.registry import first_workload, workloads
from workshop.server import actions
from workshop.store.records import Identity, RunRecord, SessionRecord


def form(session: SessionRecord, identity: Identity, run: RunRecord | None) -> None:
    """What to run and where; it begins with the `run` that is shown."""
    st.markdown("#### New run")
    known = workloads()
    names = list(known)
    wanted = run.workload if run is not None else st.query_params.get("workload")
    begin = names.index(wanted if wanted in names else first_workload().name)
    name = names[0] if len(names) == 1 else st.selectbox("Workload", names, begin, format_func=lambda n: known[n].title)
    st.caption(known[name].summary)
    with blocks.errors():
        values, uploads = _params(known[name], run)
        st.markdown("#### Where it runs")
        placement = placement_form(run.placement if run is not None else session.placement, "placement")
        if st.button("Start the run", type="primary", width="stretch", icon=":material/play_arrow:"):
            if missing := [param for param, value in values.items() if value == UPLOAD and param not in uploads]:
                raise BadInput(f"{missing[0].capitalize()}: choose a file to upload first.")
            started = actions.submit(frame.store(), identity, session, name, values, placement, uploads)
            st.query_params["run"] = str(started.id)
            st.query_params.pop("again", None)
            st.rerun()


def _params(workload: Workload, run: RunRecord | None) -> tuple[dict[str, object], Uploads]:
    """The form of the workload's params; its values and the files that somebody uploads."""
    alike = run is not None and run.workload == workload.name
    given = dict(run.params) if alike else {}
    resumes = param_of_runs(workload.params)
    if resumes:
        # A run that went on from another one is not what the next one should begin with, unless somebody says so.
        again = alike and st.query_params.get("again") == str(run.id)
        given[resumes] = str(run.id) if again else ""
        if again:
            given = going_on(workload.params, given)
            st.info(f"This is filled in to go on from run {run.id}.", icon=":material/redo:")
    values, uploads = model_form(workload.params, given, f"params-{workload.name}")
    if resumes and values.get(resumes):
        st.caption(f":material/redo: It goes on from run {frame.plain(str(values[resumes]))}.")
    return values, uploads
