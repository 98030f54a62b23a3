"""A learner's home: the next step, the own runs, and what the labs know of the learner."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from workshop.core import words
from workshop.course import learner
from workshop.course.class_progress import Classroom
from workshop.course.progress import Class, LabStanding, next_step
from workshop.store.records import Identity
from workshop.store.sessions import now
from workshop.store.store import Store
from workshop.web import classroom
from workshop.web.class_sections import learner_cards
from workshop.web.pages import blocks, frame

RECENT = 5  # runs that are listed


def progress(name: str) -> Class:
    """The progress of one learner alone. All visitors share the descriptions of the labs."""
    return _classroom(frame.store().database.where, frame.store()).look(name)


@st.cache_resource(show_spinner=False, max_entries=2)
def _classroom(where: str, _store: Store) -> Classroom:
    return Classroom(_store)


def labs_of(identity: Identity) -> Sequence[LabStanding]:
    """Return the progress of a visitor in all labs, in the order of the course."""
    class_ = progress(learner.browser_name(frame.store(), identity))
    return class_.learners[0].labs if class_.learners else tuple(LabStanding(lab) for lab in class_.labs)


def class_words() -> dict[str, str]:
    """Return how far the class is in each lab that somebody has begun, by the lab's name."""
    class_ = _classroom(frame.store().database.where, frame.store()).look()
    words_by_lab = {}
    for place, lab in enumerate(class_.labs):
        at_it = [learner.labs[place] for learner in class_.learners if learner.labs[place].at_it]
        if at_it:
            done = sum(progress.finished for progress in at_it)
            words_by_lab[lab.name] = f"{done} done, {len(at_it) - done} at it"
    return words_by_lab


def lab_words(lab_progress: LabStanding) -> str:
    """Return how far somebody is in a lab, on one line."""
    exercises = words.count(len(lab_progress.exercises), "exercise")
    parts = [f"{lab_progress.solved} of {exercises} solved"] if lab_progress.exercises else []
    parts += [f"quiz {words.percent(quiz.share)}" for quiz in lab_progress.quizzes]
    return ", ".join(parts) or "begun"


def show(identity: Identity) -> None:
    """Draw the next step, what the learner did, and what the learner predicted."""
    labs = labs_of(identity)
    pace = classroom.pace(frame.store())
    step = next_step(labs, frame.store().rounds("live", going_on=True), pace.lab, pace.words)
    with st.container(border=True, key="next-step"):
        st.markdown("#### :material/directions_walk: Your next step")
        if step is None:
            st.markdown("You have done every lab. Compare your runs in *All runs*, or set up a run of your own.")
            if st.button("Set up a run of your own", type="primary", icon=":material/play_circle:"):
                frame.go("run")
        else:
            st.markdown(frame.plain(step.words))
            if step.lab and st.button(step.label, type="primary", icon=":material/menu_book:"):
                part = {"part": str(pace.part)} if step.lab == pace.lab else {}
                frame.go("labs", {"lab": step.lab, **part})
            if step.address:
                st.link_button(step.label, step.address, type="primary", icon=":material/quiz:")
    runs = frame.store().runs(submitted_by=identity.nickname, limit=RECENT)
    own_progress = next(iter(progress(learner.browser_name(frame.store(), identity)).learners), None)
    if own_progress is not None and own_progress.last is None:
        own_progress = None  # on the roster, and nothing is begun
    if not runs and own_progress is None:
        return
    st.markdown("#### What you did and predicted")
    frame.run_links(runs)
    if own_progress is not None:
        lab_cards = {card.name: card for card in learner_cards(own_progress, now(frame.store().database))}
        latest = own_progress.last.lab.name if own_progress.last is not None else ""
        blocks.show_page([card for name, card in lab_cards.items() if name == latest], "home")
        if earlier := [card for name, card in lab_cards.items() if name not in ("learner", latest)]:
            with st.expander("Other labs that you have begun", icon=":material/menu_book:"):
                blocks.show_page(earlier, "home-other")
