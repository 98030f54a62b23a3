"""What everybody looks at in the room, with large type and nothing to press: a run, or who is here and how to come in.

`?projector=1` shows it in place of the page Run, for one run, and in place of the page Session, where it follows the
class: the live round that goes on, else the run that is pinned, else the run that goes on or has just ended, else the
class with its code.
"""

from __future__ import annotations

import time

import streamlit as st

from workshop.core import words
from workshop.report.sentences import rest_words, state_words
from workshop.store import read_only
from workshop.store.records import Identity, RunRecord, SessionRecord
from workshop.store.store import Store
from workshop.web import classroom, presence
from workshop.web.pages import blocks, classroom_bar, frame
from workshop.web.pages.live import run_view
from workshop.web.templates import render

PARAMETER = "projector"
EVERY = 3.0  # seconds between looks at what to show
LINGER = 300.0  # seconds for which a run is shown after its end
MOST_NAMES = 48  # nicknames that are shown


def requested() -> bool:
    """Whether the address says that the page is for the projector."""
    return PARAMETER in st.query_params


def run_screen(run: RunRecord) -> None:
    """Show one run."""
    with st.container(key="projector"):
        run_view(run.id, frame.visitor(), projector=True)


def class_screen(session: SessionRecord | None) -> None:
    """Show what the class does; for the instructor, since the code is on it."""
    identity = frame.visitor()
    if identity.role != "instructor":
        st.info("The projector's page is for the instructor.", icon=":material/info:")
        return
    with st.container(key="projector"):
        st.fragment(run_every=EVERY)(_draw)(frame.store(), identity, session)


def _draw(store: Store, identity: Identity, session: SessionRecord | None) -> None:
    rounds = store.rounds("live", going_on=True)
    if rounds and frame.recorded() is None:
        blocks.leave(f"/quiz/{rounds[0].id}/projector?follow=class")
        return
    classroom_bar.draw_pace(classroom.pace(store))
    run = current_run(store)
    if run is not None:
        run_view(run.id, identity, projector=True)
    else:
        st.html(_class(store, session and store.session(session.name)))


def current_run(store: Store) -> RunRecord | None:
    """The run that is pinned, else the class's newest run that goes on or has ended lately; None without one."""
    if (pinned := classroom.pinned_run(store)) is not None:
        return store.run(pinned)
    public = {session.id for session in store.sessions() if not session.private}
    since = read_only.now(store.database) - LINGER
    started = (run for run in store.runs(limit=20) if run.started_at is not None and run.session_id in public)
    return next((run for run in started if not run.ended or (run.finished_at or 0.0) > since), None)


def _class(store: Store, session: SessionRecord | None) -> str:
    """The way in, the pace, the session and who is here, as HTML."""
    now = time.time()
    names = [attendance.nickname for attendance in store.attendances() if presence.is_present(attendance, now)]
    present = (
        f"{words.count(len(names), 'learner')} {words.verb(len(names), 'is', 'are')} here"
        if names
        else "Nobody is here yet."
    )
    state = state_words(session) if session is not None and session.up else rest_words(session)
    return render(
        "dashboard/projector",
        recorded=frame.recorded() is not None,
        words=" ".join(filter(None, (classroom.pace(store).words, state))),
        present=present,
        names=names,
        most=MOST_NAMES,
        **classroom_bar.invitation(store),
    )
