"""The page of studies: a list of them, the chosen one, and the form of a new one. Each kind of study names a page of
the dashboard that shows its studies; the page `ALL` shows all of them. `?study=3` links to a study, `?new=1` to the
form."""

from __future__ import annotations

import streamlit as st

from workshop import registry
from workshop.core import words
from workshop.store.records import SessionRecord
from workshop.study.kinds import expected_runs, title
from workshop.web.pages import blocks, frame, links, study_form
from workshop.web.pages.study_view import live, show

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
                links.link(other.name, "All" if other.name == ALL else frame.plain(other.title))
    session = frame.choose_session()
    names = None if here.name == ALL else [name for name, kind in kinds.items() if kind.page == here.name]
    studies = frame.store().studies(names, limit=MOST_STUDIES)
    linked = blocks.linked("study", frame.store().study, "here are those there are")
    if st.query_params.get("new") or not (studies or linked):
        study_form.draw(kinds if names is None else names, session, identity, back=bool(studies))
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
