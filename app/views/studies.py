"""Studies: the list of them, and one as it goes on. `?study=3` is a link to one, `?new=1` to the form of a new one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import streamlit as st
from pydantic import ValidationError

from workshop import registry
from workshop.core import words
from workshop.core.errors import BadInput, bad_input
from workshop.core.forms import param_of_runs
from workshop.extension import Workload, load
from workshop.mpi.implementations import read_placement
from workshop.store.records import Identity, SessionRecord, StudyRecord
from workshop.study import runner
from workshop.study.estimate import Remaining, planned_work
from workshop.study.kinds import StudyForm, StudyRequest, expected_runs, title
from workshop.study.trials import Planned
from workshop.web.pages import blocks, frame, links
from workshop.web.pages.fields import model_form, placement_form
from workshop.web.pages.studies import begin, live, show_study

MOST = 100  # studies in the list
WORDS = "A study runs a workload several times under different conditions, and compares what comes out."
CACHE_SECONDS = 300.0  # seconds for which a plan is kept: making one may ask an MPI where ranks would run


def page() -> None:
    identity = frame.heading("Scaling and studies", WORDS)
    studies = frame.store().studies(limit=MOST)
    linked = blocks.linked("study", frame.store().study, "here are those there are")
    session = frame.choose_session() if identity.role == "instructor" else None
    if not studies or st.query_params.get("new"):
        _begin(session, identity, bool(studies))
        return
    first = linked or studies[0]
    # Another newest study moves all rows: the table of before would pick another one.
    picked = blocks.pick(studies, [first], COLUMNS, f"studies-{studies[0].id}-{first.id}", height=220)
    study = picked[0] if picked else first
    st.query_params["study"] = str(study.id)
    show_study(study, session, identity)


def _begin(session: SessionRecord | None, identity: Identity, back: bool) -> None:
    """The instructor's form; others read who prepares studies, and where they can go on."""
    if identity.role == "instructor" and frame.recorded() is None:
        if back and st.button("Back to the studies", type="tertiary", icon=":material/arrow_back:"):
            st.query_params.pop("new")
            st.rerun()
        _form(session, identity)
        return
    st.info("No study yet. The instructor prepares it; it then appears here.", icon=":material/hourglass_empty:")
    links.link("run", "Meanwhile, run a workload once", ":material/play_circle:")


COLUMNS = {
    "Study": lambda study: study.id,
    "What": lambda study: words.capital(title(study)),
    "State": lambda study: "running" if live(study) else study.state,
    # A study that goes on may want more runs than it has.
    "Runs": lambda study: f"{study.done} of {expected_runs(frame.store(), study)}",
    "Begun": lambda study: words.moment(study.created_at),
}


def _form(session: SessionRecord | None, identity: Identity) -> None:
    """The form, with the price of the study that it describes."""
    forms: dict[str, StudyForm] = {name: load(kind.form) for name, kind in registry.studies().items() if kind.form}
    kinds = sorted(forms, key=lambda name: forms[name].order)
    with st.container(border=True, key="study-begin"), blocks.errors():
        st.markdown("#### Prepare a study")
        kind = st.selectbox("Kind", kinds, format_func=lambda name: forms[name].title, key="study-kind")
        chosen = forms[kind]
        all_workloads = dict(sorted(registry.workloads().items(), key=lambda item: item[1].order))
        names = [name for name, workload in all_workloads.items() if chosen.takes(workload) and not workload.lacks()]
        if not names:
            raise BadInput("No workload of this kind of study is installed; choose another kind.")
        key = f"study-{kind}-workload"
        workload = all_workloads[
            st.selectbox("Workload", names, format_func=lambda name: all_workloads[name].title, key=key)
        ]
        options, _ = model_form(chosen.options, {}, f"study-{kind}")
        try:
            checked = chosen.options.model_validate(options)
        except ValidationError as error:
            raise bad_input(error) from error
        price = st.container()  # above the many settings of the runs
        params, placement = _settings_of_runs(chosen, workload, checked, session, f"study-{kind}-{workload.name}")
        with price, blocks.errors():
            planned = _planned(session.id if session else 0, kind, workload.name, params, placement, options)
            _begin_planned(planned, planned_work(frame.store(), planned), session, identity)


def _settings_of_runs(
    chosen: StudyForm, workload: Workload, options: Any, session: SessionRecord | None, key: str
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The params that somebody has changed, and the placement."""
    start = dict(chosen.start(workload, options))
    fields = workload.params.model_fields
    begin = {name: field.get_default(call_default_factory=True) for name, field in fields.items()} | start
    hidden = {*chosen.hidden(workload), param_of_runs(workload.params)}
    placement = dict(session.placement) if session else {}
    params_column, placement_column = (
        st.columns(2, gap="medium") if chosen.placement else (st.container(), st.container())
    )
    with params_column:
        st.markdown("**Settings of its runs**")
        # Other params to begin with need widgets of their own: those that are drawn keep their values.
        values, _ = model_form(workload.params, begin, f"{key}-{sorted(start.items())}", hidden=hidden, uploading=False)
    if chosen.placement:
        with placement_column:
            st.markdown("**Where they run**")
            placement = placement_form(placement, f"{key}-placement", chosen.placement)
    return {name: value for name, value in values.items() if value != begin[name]}, placement


@st.cache_resource(ttl=CACHE_SECONDS, max_entries=32, show_spinner="The study is being planned")
def _planned(session_id: int, kind: str, workload: str, *settings: Mapping[str, Any]) -> Planned:
    """The study with these params, placement and options. Raises BadInput."""
    params, placement, options = settings
    store, chosen = frame.store(), load(registry.studies()[kind].form)
    session = store.session(session_id) if session_id else None
    where, checked = read_placement(placement), chosen.options.model_validate(options)
    planned: Planned = chosen.plan(StudyRequest(store, session, registry.workload(workload), params, where, checked))
    return planned


def _begin_planned(planned: Planned, price: Remaining, session: SessionRecord | None, identity: Identity) -> None:
    """The price, and the buttons that keep the study or start it, too."""
    runs, in_all = words.count(price.runs, "run"), words.long(price.seconds)
    st.markdown(f"**{runs}**, about **{in_all}** in all ({frame.plain(price.why)}).")
    why = frame.not_up(session)
    with st.container(horizontal=True):
        prepare = st.button("Prepare it", icon=":material/bookmark:", help="Keeps the study; nothing is run yet.")
        start = st.button("Start it", type="primary", icon=":material/play_arrow:", disabled=bool(why))
    if why:
        st.caption(why)
    if prepare or start:
        begin(lambda: _keep(planned, identity), identity, session if start else None)


def _keep(planned: Planned, identity: Identity) -> StudyRecord:
    """The unfinished study with the same description, or a new one."""
    same = next(runner.same_studies(frame.store(), planned), None)
    return same or runner.begin(frame.store(), planned, identity.nickname)
