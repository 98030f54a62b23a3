"""The page of studies: a list of them, the chosen one, and the form of a new one with its price. Each kind of study
names a page of the dashboard that shows its studies; the page `ALL` shows all of them. `?study=3` links to a study,
`?new=1` to the form."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import streamlit as st
from pydantic import ValidationError

from workshop import registry
from workshop.core import words
from workshop.core.errors import BadInput, WorkshopError, bad_input
from workshop.core.forms import param_of_runs
from workshop.extension import Workload, load
from workshop.mpi.implementations import read_placement
from workshop.store.records import Identity, SessionRecord
from workshop.study import runner
from workshop.study.kinds import Remaining, StudyForm, StudyRequest, expected_runs, planned_work, title
from workshop.study.trials import Planned
from workshop.web import actions
from workshop.web.pages import blocks, frame
from workshop.web.pages.fields import model_form, placement_form
from workshop.web.pages.study_view import live, show
from workshop.web.study_processes import RUNNERS

ALL = "studies"  # the page of all studies
MOST_STUDIES = 100  # studies in the list
COLUMNS = {
    "Study": lambda study: study.id,
    "What": lambda study: words.capital(title(study)),
    "State": lambda study: "running" if live(study) else study.state,
    # A study that goes on may want more runs than it has.
    "Runs": lambda study: f"{study.done} of {expected_runs(frame.store(), study)}",
    "Begun": lambda study: words.moment(study.created_at),
}


def page() -> SessionRecord | None:
    """Draw the page that the visitor has chosen, with the studies that belong there. Returns the chosen session."""
    here, kinds = st.session_state[frame.PAGE], registry.studies()
    identity = frame.heading(here.title, here.summary)
    with st.container(horizontal=True, key="kinds"):
        for other in registry.pages():
            if other.name in {kind.page for kind in kinds.values()}:
                frame.link(other.name, "All" if other.name == ALL else frame.plain(other.title))
    session = frame.choose_session()
    names = None if here.name == ALL else [name for name, kind in kinds.items() if kind.page == here.name]
    studies = frame.store().studies(names, limit=MOST_STUDIES)
    linked = blocks.linked("study", frame.store().study, "here are those there are")
    if st.query_params.get("new") or not (studies or linked):
        draw(kinds if names is None else names, session, identity, back=bool(studies))
        return session
    first = linked or studies[0]
    # Another newest study moves all rows: the table of before would pick another one.
    picked = blocks.pick(
        studies, [first], COLUMNS, f"studies-{[newest.id for newest in studies[:1]]}-{first.id}", height=220
    )
    study = picked[0] if picked else first
    st.query_params["study"] = str(study.id)
    show(study, session, identity)
    return session


CACHE_SECONDS = 300.0  # seconds for which a plan is kept: making one may ask an MPI where ranks would run


def draw(kinds: Collection[str], session: SessionRecord | None, identity: Identity, back: bool) -> None:
    """The instructor's form for these kinds, with a way `back` to studies; others read where they can go on."""
    if identity.role != "instructor" or frame.recorded() is not None:
        st.info("The instructor has not prepared a study here yet. Until then:", icon=":material/hourglass_empty:")
        about = {registry.studies()[name].workload for name in kinds} - {""}
        workload = registry.workloads().get(about.pop()) if len(about) == 1 else None
        lab = {"lab": workload.lab} if workload and workload.lab else None
        with st.container(horizontal=True):
            frame.link("labs", "Read the lab" if lab else "Read the labs", ":material/menu_book:", lab)
            query = {"workload": workload.name} if workload else None
            frame.link("run", "Set up a run of your own", ":material/play_circle:", query)
        return
    if back and st.button("Back to the studies", type="tertiary", icon=":material/arrow_back:"):
        st.query_params.pop("new")
        st.rerun()
    _form(kinds, session, identity)


def _form(kinds: Collection[str], session: SessionRecord | None, identity: Identity) -> None:
    """The form, with the price of the study that it describes."""
    forms: dict[str, StudyForm] = {name: load(form) for name in kinds if (form := registry.studies()[name].form)}
    ordered = sorted(forms, key=lambda name: forms[name].order)
    with st.container(border=True, key="study-begin"), blocks.errors():
        st.markdown("#### Prepare a study")
        key = f"study-kind-{len(ordered)}"  # a page with other kinds has a box of its own
        kind = _choose("Kind", {name: forms[name].title for name in ordered}, key)
        chosen = forms[kind]
        all_workloads = dict(sorted(registry.workloads().items(), key=lambda item: item[1].order))
        names = [name for name, workload in all_workloads.items() if chosen.takes(workload) and not workload.lacks()]
        if not names:
            raise BadInput("No workload of this kind of study is installed; choose another kind.")
        titles = {name: all_workloads[name].title for name in names}
        workload = all_workloads[_choose("Workload", titles, f"study-{kind}-workload")]
        options, _ = model_form(chosen.options, {}, f"study-{kind}")
        try:
            checked = chosen.options.model_validate(options)
        except ValidationError as error:
            raise bad_input(error) from error
        price = st.container()  # above the many settings of the runs
        params, placement = _settings_of_runs(chosen, workload, checked, session, f"study-{kind}-{workload.name}")
        with price:
            try:
                planned = _planned(session.id if session else 0, kind, workload.name, params, placement, options)
            except WorkshopError as error:
                st.warning(frame.plain(str(error)), icon=":material/info:")
            else:
                _begin_planned(planned, planned_work(frame.store(), planned), session, identity)


def _choose(label: str, titles: Mapping[str, str], key: str) -> str:
    """The name that is picked from a box with titles; where there is only one, it needs no box."""
    only = next(iter(titles))
    return only if len(titles) == 1 else st.selectbox(label, list(titles), format_func=titles.__getitem__, key=key)


def _settings_of_runs(
    chosen: StudyForm, workload: Workload, options: Any, session: SessionRecord | None, key: str
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The params that somebody has changed, and the placement."""
    start = dict(chosen.start(workload, options))
    fields = workload.params.model_fields
    begin = {name: field.get_default(call_default_factory=True) for name, field in fields.items()} | start
    hidden = {*chosen.hidden(workload), param_of_runs(workload.params) or ""}
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
    if not prepare and not start:
        return
    with blocks.errors():
        actions.only_instructor(identity)
        # An unfinished study with the same description is the same study.
        same = next(runner.same_studies(frame.store(), planned), None)
        study = same or runner.begin(frame.store(), planned, identity.nickname)
        st.query_params["study"] = str(study.id)
        st.query_params.pop("new", None)
        if start and session is not None:
            RUNNERS.start(frame.store(), identity, study.id, session)
        st.rerun()
