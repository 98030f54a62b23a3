"""The instructor's controls of the class: its pace with a timer, requests for help, and the removal of the roster."""

from __future__ import annotations

import time

import streamlit as st

from workshop.course.class_progress import SAME, outlines
from workshop.course.progress import Outline
from workshop.course.stuck import time_ago
from workshop.pages import blocks, classroom_bar, frame
from workshop.server import classroom
from workshop.store.records import Identity

EVERY = 5.0  # seconds between looks at who asks for help
REMOVAL = (
    "This deletes all learners and what is known of them in the labs, and logs them out. Runs and answers of quizzes "
    "stay, without names. It can't be undone: download the roster and the progress first."
)


def pacing(identity: Identity) -> None:
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


@st.cache_data(ttl=SAME, show_spinner=False)
def _labs() -> list[Outline]:
    return outlines()[0]


def help_requests(identity: Identity) -> None:
    """Draw the learners who ask for help, since when, with a button to mark it as answered."""
    st.fragment(run_every=EVERY)(_help_requests)(identity)


def _help_requests(identity: Identity) -> None:
    now = time.time()
    waiting = [attendance for attendance in frame.store().attendances() if attendance.help_asked_at is not None]
    for attendance in sorted(waiting, key=lambda attendance: attendance.help_asked_at or now):
        with st.container(horizontal=True, vertical_alignment="center", key=f"help-{attendance.id}"):
            st.markdown(
                f":material/back_hand: **{frame.plain(attendance.nickname)}** asked for help "
                f"{time_ago(attendance.help_asked_at, now)}.",
                width="content",
            )
            st.button("Answered", key=f"answered-{attendance.id}", on_click=_answer, args=(identity, attendance.id))


def _answer(identity: Identity, learner_id: int) -> None:
    with blocks.errors():
        classroom.answer_help(frame.store(), identity, learner_id)
    classroom_bar.refresh()


def removal(identity: Identity) -> None:
    """Delete the learners of the class, after a question."""
    if blocks.confirmed("Remove the roster", ":material/delete:", REMOVAL, "Yes, remove all learners"):
        with blocks.errors():
            classroom.remove_roster(frame.store(), identity)
            classroom_bar.refresh()
            st.rerun()
