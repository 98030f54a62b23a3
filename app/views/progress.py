"""The class, for the instructor: pace, roster, requests for help, everybody's marks, one learner, and a reset."""

from __future__ import annotations

import streamlit as st

from workshop.core import words
from workshop.course.class_progress import SAME, outlines, plan_reset
from workshop.course.progress import Outline
from workshop.quiz.results import spreadsheets
from workshop.store.records import Identity
from workshop.store.sessions import now
from workshop.web import actions, classroom
from workshop.web.class_sections import learner_cards
from workshop.web.pages import blocks, classroom_bar, frame, learner_home
from workshop.web.pages.live import class_view

ALL = "All labs"
EVERY = 3.0  # seconds between looks at a learner
DONE = "done"  # where a sentence about what was done waits for the page to be drawn again
PUT_OUT = (
    "This cancels the learner's runs and logs the learner out. With the class code the learner can come in again as "
    "somebody new; close the class to prevent that."
)
REMOVAL = (
    "This deletes all learners and what is known of them in the labs, and logs them out. Runs and answers of quizzes "
    "stay, without names. It can't be undone: download the roster and the progress first."
)


def page() -> None:
    identity = frame.heading("Class")
    learner = st.query_params.get("learner", "")
    if not learner:
        if frame.recorded() is None:
            _pacing(identity)
            classroom_bar.help_requests(identity)
            _admission(identity)
        class_view()
        with st.container(horizontal=True):
            st.link_button("Download as CSV", "live/class.csv", icon=":material/download:")
            with st.popover("Grades", icon=":material/grading:"):
                for kind, title in spreadsheets.TITLES.items():
                    st.link_button(title, f"live/labs.grades-{kind}.csv", icon=":material/download:")
            if frame.recorded() is None:
                st.link_button("Download the roster", "live/roster.csv", icon=":material/download:")
                if blocks.confirmed("Remove the roster", ":material/delete:", REMOVAL, "Yes, remove all learners"):
                    with blocks.errors():
                        classroom.remove_roster(frame.store(), identity)
                        classroom_bar.refresh()
                        st.rerun()
        return
    st.link_button("Back to the class", "progress", icon=":material/arrow_back:")
    if done := st.session_state.pop(DONE, ""):
        st.success(frame.plain(done))
    st.fragment(run_every=EVERY)(_learner)(learner)
    labs = sorted({row.lab for row in frame.store().progress(learner)})
    if labs and frame.recorded() is None:
        with st.expander("Let them begin anew", icon=":material/restart_alt:"), blocks.errors():
            chosen = st.selectbox("Lab", [ALL, *labs], width=320)
            lab = None if chosen == ALL else chosen
            words = frame.plain(plan_reset(frame.store(), learner, lab).words)
            if blocks.confirmed("Begin anew", ":material/restart_alt:", words, "Yes, let them begin anew"):
                st.session_state[DONE] = actions.take_back(frame.store(), identity, learner, lab)
                st.rerun()


def _learner(name: str) -> None:
    """One learner: every lab with its tries, hints, predictions and quizzes."""
    st.subheader(frame.plain(name), anchor=False)
    learners = learner_home.progress(name).learners
    if learners:
        blocks.show_page(learner_cards(learners[0], now(frame.store().database)), "learner")
    else:
        st.markdown("Nothing is known of this learner.")


def _pacing(identity: Identity) -> None:
    """Where the class is, and the timer that everybody sees."""
    pace, labs = classroom.pace(frame.store()), {lab.name: lab for lab in _labs()}
    with st.expander("Pace and timer", icon=":material/timer:"), blocks.errors():
        with st.container(horizontal=True, vertical_alignment="bottom"):
            names = ["", *labs]
            lab = st.selectbox(
                "Lab",
                names,
                names.index(pace.lab) if pace.lab in labs else 0,
                format_func=lambda name: labs[name].label if name else "none",
                width=320,
            )
            steps = ["", *(labs[lab].exercises if lab else ())]
            step = st.selectbox(
                "Exercise",
                steps,
                steps.index(pace.step) if lab == pace.lab and pace.step in steps else 0,
                format_func=lambda name: name or "all of the lab",
                width=240,
            )
            set_now = st.button("Set the pace", type="primary")
        with st.container(horizontal=True, vertical_alignment="bottom"):
            minutes = st.number_input("Minutes", 1, classroom.LONGEST_TIMER, 10, width=160)
            start_now = st.button("Start the timer")
            end_now = pace.until is not None and st.button("End the timer")
        if set_now:
            classroom.set_pace(frame.store(), identity, list(labs.values()), lab, step)
        if start_now or end_now:
            classroom.set_timer(frame.store(), identity, minutes if start_now else None)
        if set_now or start_now or end_now:
            classroom_bar.refresh()
            st.rerun()


def _admission(identity: Identity) -> None:
    """Who may come in, and a learner who has to stop."""
    store = frame.store()
    with st.expander("Admission", icon=":material/how_to_reg:"), blocks.errors():
        if done := st.session_state.pop(DONE, ""):
            st.success(frame.plain(done))
        open_now = st.toggle("New learners may join", classroom.is_open(store))
        if open_now != classroom.is_open(store):
            classroom.set_admission(store, identity, open_now)
        names = {learner.id: learner.nickname for learner in store.attendances()}
        with st.container(horizontal=True, vertical_alignment="bottom"):
            chosen = st.selectbox("Learner", names, None, names.__getitem__, placeholder="Choose a learner", width=320)
            if chosen is None:
                return
            if st.button("Cancel all runs of this learner"):
                runs = words.count(classroom.cancel_runs(store, identity, chosen), "run")
                st.session_state[DONE] = f"{names[chosen]}: {runs} cancelled."
                st.rerun()
            if blocks.confirmed("Put out", ":material/logout:", PUT_OUT, "Yes, put this learner out"):
                classroom.put_out(store, identity, chosen)
                st.session_state[DONE] = f"{names[chosen]} is out of the class."
                st.rerun()


@st.cache_data(ttl=SAME, show_spinner=False)
def _labs() -> list[Outline]:
    return outlines()[0]
