"""The class, for the instructor: pace, roster, requests for help, everybody's marks, one learner, and a reset."""

import streamlit as st

from workshop.course import progress_reset
from workshop.pages import blocks, class_controls, frame
from workshop.pages.live import class_view, learner_view
from workshop.server import actions
from workshop.store.records import Identity

ALL = "All labs"
DONE = "begun-anew"  # where the sentence about a reset waits for the page to be drawn again


def page() -> None:
    identity = frame.heading("Class")
    learner = st.query_params.get("learner", "")
    if not learner:
        if frame.recorded() is None:
            class_controls.pacing(identity)
            class_controls.help_requests(identity)
        class_view()
        with st.container(horizontal=True):
            st.link_button("Download as CSV", "/live/class.csv", icon=":material/download:")
            if frame.recorded() is None:
                st.link_button("Download the roster", "/live/roster.csv", icon=":material/download:")
                class_controls.removal(identity)
        return
    st.link_button("Back to the class", "/progress", icon=":material/arrow_back:")
    if done := st.session_state.pop(DONE, ""):
        st.success(frame.plain(done))
    learner_view(learner)
    labs = sorted({row.lab for row in frame.store().progress(learner)})
    if labs and frame.recorded() is None:
        with st.expander("Let them begin anew", icon=":material/restart_alt:"), blocks.errors():
            _begin_anew(identity, learner, labs)


def _begin_anew(identity: Identity, learner: str, labs: list[str]) -> None:
    """The effects of a reset, before it is confirmed."""
    chosen = st.selectbox("Lab", [ALL, *labs], width=320)
    lab = None if chosen == ALL else chosen
    plan = progress_reset.plan(frame.store(), learner, lab)
    words, yes = frame.plain(plan.words), "Yes, let them begin anew"
    if blocks.confirmed("Begin anew", ":material/restart_alt:", words, yes):
        st.session_state[DONE] = actions.take_back(frame.store(), identity, learner, lab)
        st.rerun()
