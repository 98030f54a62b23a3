"""A run: set it up, start it, watch it. `?run=ID` is a link to one, `&again=ID` fills the form in to go on from it,
`?workload=NAME` begins with that one."""

import streamlit as st

from workshop.pages import blocks, frame, links, run_form
from workshop.pages.live import run_view
from workshop.store.records import SessionRecord

RECENT = 8  # runs that are listed


def page() -> None:
    identity = frame.heading("Run")
    session = frame.choose_session()
    run = blocks.linked("run", frame.store().run, "*History* shows those there are")
    main, form = st.columns([13, 5], gap="medium")
    with main:
        if run is not None:
            run_view(run.id, identity)
        else:
            _nothing_chosen(session)
    # On a phone the form stands below the run; for a continued run it comes first, see style.css.
    with form, st.container(border=True, key="go-on" if "again" in st.query_params else "new-run"):
        if frame.recorded() or session is None:
            st.markdown(frame.not_up(session))
        else:
            run_form.form(session, identity, run)


def _nothing_chosen(session: SessionRecord | None) -> None:
    """How to begin, and the latest runs."""
    if not frame.recorded():
        st.subheader("Set up a run and start it", anchor=False)
        st.markdown(
            "Choose on the form what the ranks should compute and where they should run. "
            "What they find appears here while they work."
        )
    latest = frame.store().runs(session_id=session.id, limit=RECENT) if session else []
    if latest:
        st.markdown("**Watch one of the latest:**" if frame.recorded() else "**Or watch one of the latest:**")
    links.run_links(latest)
