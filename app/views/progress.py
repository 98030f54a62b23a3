"""The class in the labs, for the instructor: who is stuck, everybody's marks, one learner's way, and beginning anew."""

import streamlit as st

from workshop.core.errors import WorkshopError
from workshop.course import progress_reset
from workshop.pages import frame
from workshop.pages.live import class_view, learner_view
from workshop.server import actions
from workshop.store.records import Identity

NOT_THEIRS = (
    "How the class stands is the instructor's page. What you have solved is marked in your own notebooks, and your "
    "quizzes are on the page Quizzes."
)
ALL = "All labs"


def main() -> None:
    learner = st.query_params.get("learner", "")
    identity = frame.heading("Class")
    if identity.role != "instructor":
        st.info(NOT_THEIRS, icon=":material/info:")
        return
    if not learner:
        class_view()
        st.link_button("Download as CSV", "/live/class.csv", icon=":material/download:")
        return
    st.link_button("Back to the class", "/progress", icon=":material/arrow_back:")
    if done := st.session_state.pop("taken-back", ""):
        st.success(frame.plain(done))
    learner_view(learner)
    if frame.recorded() is None:
        _begin_anew(identity, learner)


def _begin_anew(identity: Identity, learner: str) -> None:
    """What a reset would do, before it is confirmed."""
    store = frame.store()
    labs = sorted({row.lab for row in store.progress(learner)})
    if not labs:
        return
    with st.expander("Let them begin anew", icon=":material/restart_alt:"):
        chosen = st.selectbox("Lab", [ALL, *labs], format_func=str, width=320)
        lab = None if chosen == ALL else chosen
        try:
            plan = progress_reset.plan(store, learner, lab)
        except WorkshopError as error:
            st.error(frame.plain(str(error)))
            return
        with st.popover("Begin anew", icon=":material/restart_alt:"):
            st.markdown(frame.plain(plan.words))
            if st.button("Yes, let them begin anew", type="primary"):
                _take_back(identity, learner, lab)


def _take_back(identity: Identity, learner: str, lab: str | None) -> None:
    try:
        st.session_state["taken-back"] = actions.take_back(frame.store(), identity, learner, lab)
    except WorkshopError as error:
        st.error(frame.plain(str(error)))
    else:
        st.rerun()


main()
