"""A run: set it up, start it, watch it. `?run=ID` is a link to one, `&again=ID` fills the form in to go on from it,
`?workload=NAME` begins with that one."""

import streamlit as st

from workshop.core.errors import BadInput, WorkshopError
from workshop.core.forms import going_on, param_of_runs
from workshop.extension import Workload
from workshop.pages import frame, links
from workshop.pages.fields import UPLOAD, Uploads, model_form
from workshop.pages.live import run_view
from workshop.pages.placement import placement_form
from workshop.registry import first_workload, workloads
from workshop.report.wording import who
from workshop.server import actions
from workshop.server.numbers import number
from workshop.store.records import Identity, RunRecord, SessionRecord


def main() -> None:
    identity = frame.heading("Run")
    session = frame.choose_session()
    run = _wanted()
    shown, form = st.columns([13, 5], gap="medium")
    with shown:
        if run is not None:
            run_view(run.id, identity)
        else:
            _nothing_chosen(session)
    # On a phone the form stands below the run; whoever comes to go on from a run wants it first, see style.css.
    with form, st.container(border=True, key="go-on" if "again" in st.query_params else "new-run"):
        if frame.recorded():
            st.markdown(frame.not_up(session))
        elif session is None:
            st.markdown("**No session is up**, so nothing can run yet.")
        else:
            _form(session, identity, run)


def _wanted() -> RunRecord | None:
    given = st.query_params.get("run")
    if given is None:
        return None
    try:
        return frame.store().run(number(given))
    except (WorkshopError, ValueError):
        st.warning(f"There is no run {frame.plain(given[:40])}; *History* shows those there are.")
        return None


def _nothing_chosen(session: SessionRecord | None) -> None:
    if not frame.recorded():
        st.subheader("Set up a run and start it", anchor=False)
        st.markdown(
            "Choose on the form what the ranks should compute and where they should run. "
            "What they find appears here while they work."
        )
    latest = frame.store().runs(session_id=session.id, limit=8) if session else []
    if latest:
        st.markdown("**Watch one of the latest:**" if frame.recorded() else "**Or watch one of the latest:**")
    for run in latest:
        words = f"Run {run.id} · {run.workload} · {run.status} · {frame.plain(who(run))}"
        links.run_link(run.id, words)


def _form(session: SessionRecord, identity: Identity, run: RunRecord | None) -> None:
    st.markdown("#### New run")
    known = workloads()
    names = list(known)
    wanted = run.workload if run is not None else st.query_params.get("workload")
    begin = names.index(wanted if wanted in names else first_workload().name)
    name = names[0] if len(names) == 1 else st.selectbox("Workload", names, begin, format_func=lambda n: known[n].title)
    st.caption(known[name].summary)
    try:
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
    except WorkshopError as error:
        st.error(frame.plain(str(error)))


def _params(workload: Workload, run: RunRecord | None) -> tuple[dict[str, object], Uploads]:
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


main()
