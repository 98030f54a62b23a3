"""The form of a new run: a workload, its params and a placement."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

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

EVERY = 5.0  # seconds between looks at whether the session still takes runs


def form(session: SessionRecord, identity: Identity, run: RunRecord | None) -> None:
    """The form for a new run and its placement; it begins with the settings of the `run` that is shown."""
    st.markdown("#### New run")
    known_workloads = workloads()
    names = list(known_workloads)
    wanted_name = run.workload if run is not None else st.query_params.get("workload")
    begin = names.index(wanted_name if wanted_name in names else first_workload().name)
    name = names[0] if len(names) == 1 else st.selectbox("Workload", names, begin, format_func=_title)
    st.caption(known_workloads[name].summary)
    if lacks := known_workloads[name].lacks():
        st.warning(frame.plain(lacks))
        return
    with blocks.errors():
        values, uploads = _params(known_workloads[name], run)
        st.markdown("#### Where it runs")
        placement = placement_form(run.placement if run is not None else session.placement, "placement")
        st.fragment(run_every=EVERY)(_start)(session.name, identity, name, values, placement, uploads)


def _title(name: str) -> str:
    """A workload's name in the list, with a mark where it can't run on this machine."""
    workload = workloads()[name]
    return f"{workload.title} (not installed)" if workload.lacks() else workload.title


def _start(
    session: str,
    identity: Identity,
    workload: str,
    values: Mapping[str, Any],
    placement: Mapping[str, Any],
    uploads: Uploads,
) -> None:
    """The button that starts the run; while the session takes none, it can't be pressed, and the form says why."""
    now = frame.store().session(session)
    why = frame.not_up(now)
    pressed = st.button(
        "Start the run", type="primary", width="stretch", icon=":material/play_arrow:", disabled=bool(why)
    )
    if why:
        st.caption(why)
    with blocks.errors():
        if not pressed:
            return
        if missing := [param for param, value in values.items() if value == UPLOAD and param not in uploads]:
            raise BadInput(f"{missing[0].capitalize()}: choose a file to upload first.")
        started = actions.submit(frame.store(), identity, now, workload, values, placement, uploads)
        st.query_params["run"] = str(started.id)
        st.query_params.pop("again", None)
        st.rerun()


def _params(workload: Workload, run: RunRecord | None) -> tuple[dict[str, object], Uploads]:
    """The form of the workload's params; its values and the files that somebody uploads."""
    same_workload = run is not None and run.workload == workload.name
    start_values = dict(run.params) if same_workload else {}
    resumes = param_of_runs(workload.params)
    if resumes:
        # A run that went on from another one is not what the next one should begin with, unless somebody says so.
        continues = same_workload and st.query_params.get("again") == str(run.id)
        start_values[resumes] = str(run.id) if continues else ""
        if continues:
            start_values = going_on(workload.params, start_values)
            st.info(f"This is filled in to go on from run {run.id}.", icon=":material/redo:")
    values, uploads = model_form(workload.params, start_values, f"params-{workload.name}")
    if resumes and values.get(resumes):
        st.caption(f":material/redo: It goes on from run {frame.plain(str(values[resumes]))}.")
    return values, uploads
