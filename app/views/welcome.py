"""Welcome: what this is, in a minute, and where to go."""

import streamlit as st

from workshop.pages import frame, learner_home, links
from workshop.report.sentences import state_words
from workshop.store.records import SessionRecord

WORDS = """
A **session** is a small cluster: a few **ranks**, which are processes that work on one problem together and talk
through MPI. You choose what they compute and where they are put; then you see what each of them did with its time.

1. **Predict.** Open *Run*, choose a workload and a placement. Which rank will be slow? How much will they talk?
2. **Run.** Everybody's runs take turns on the same ranks. Close the browser if you like: the run goes on.
3. **See.** Results arrive while they are computed, the same for all who watch.
4. **Explain.** Read the verdict, compare two runs in *History*, and try what it suggests next.
"""
TERMS = (
    "**Rank**: one process of a run, numbered from 0. **Placement**: how many ranks, and which cores they own. "
    "**Unit**: what Linux calls a processor; a core with hyper-threading has two. "
    "**Oversubscribed**: more ranks or threads than cores for them, so that they take turns."
)
RECENT = 5  # runs that are listed


def page() -> None:
    identity = frame.heading("Distributed Training Workshop")
    session = frame.choose_session()
    main, side = st.columns([3, 2], gap="large")
    with main:
        if identity.role == "learner" and not frame.recorded():
            learner_home.show(identity)
        st.subheader("Predict, run, see, explain", anchor=False)
        st.markdown(WORDS)
        with st.container(horizontal=True):
            label = "See a run" if frame.recorded() else "Set up a run"
            kind = "primary" if identity.role == "instructor" or frame.recorded() else "secondary"  # one on a page
            if st.button(label, type=kind, icon=":material/play_circle:"):
                links.go("run")
            if st.button("See the ranks", icon=":material/memory:"):
                links.go("session")
    with side, st.container(border=True):
        st.markdown("#### Right now")
        _now(session)
    st.divider()
    st.markdown(TERMS)


def _now(session: SessionRecord | None) -> None:
    """The session's state and the latest runs."""
    if session is not None:
        st.markdown(f"Session **{frame.plain(session.name)}**: {frame.plain(state_words(session))}")
    else:
        st.markdown("No session has been launched yet.")
    st.markdown(frame.not_up(session))
    latest = frame.store().runs(session_id=session.id if session else None, limit=RECENT)
    links.run_links(latest)
    if not latest:
        st.markdown("Nobody has run anything yet: be the first.")
