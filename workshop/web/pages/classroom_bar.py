"""The class's part of the bar, with the visitor's menu: for the instructor the code and the run that goes on, for
learners the pace and help. And the projector, which everybody in the room looks at, with large type and nothing to
press.

`?projector=1` shows it in place of the page Run, for one run, and in place of the page Session, where it follows the
class: the live round that goes on, else the run that is pinned, else the run that goes on or has just ended, else the
class with its code.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

import streamlit as st

from workshop import registry
from workshop.core import words
from workshop.core.errors import WorkshopError
from workshop.core.words import verb
from workshop.course.progress import time_ago
from workshop.report.sentences import rest_words, state_words
from workshop.store import sessions
from workshop.store.records import Identity, RunRecord, SessionRecord
from workshop.store.store import Store
from workshop.store.tables import INSTRUCTOR
from workshop.web import address, auth_middleware, classroom
from workshop.web.classroom import ClassState, Pace
from workshop.web.pages import blocks, frame
from workshop.web.pages.live import run_view
from workshop.web.templates import render

FRESH = 3.0  # seconds for which all pages show the same look at the class
EVERY = {"instructor": 5.0, "learner": 10.0}  # seconds between two drawings of the bar, by role
OVER = 600.0  # seconds for which pages show that the time is up


def bar(identity: Identity) -> None:
    """Draw the class's part of the bar, and the menu."""
    store, instructor = frame.store(), identity.role == "instructor"
    draw = _instructor_line if instructor else _learner_line
    if frame.recorded() is None:
        if instructor:
            values = invitation(store)
            with (
                st.container(key="code", width="content"),
                st.popover(values["code"], icon=":material/qr_code_2:", help="The class code"),
            ):
                st.html(render("dashboard/invitation", **values))
        st.fragment(run_every=EVERY[identity.role])(draw)(store, identity)
    _menu(identity)


def _menu(identity: Identity) -> None:
    icon = "school" if identity.role == "instructor" else "person"
    with st.container(key="menu", width="content"), st.popover("Menu", icon=":material/menu:"):
        st.markdown(f":material/{icon}: {frame.plain(identity.nickname)}")
        frame.link("labs", "Glossary", ":material/book_2:", {"show": "glossary"})
        frame.link("labs", "Dictionary of frameworks and launchers", ":material/translate:", {"show": "dictionary"})
        lab = address.jupyterlab(frame.store(), st.context.url or "") if identity.role == "instructor" else None
        st.html(render("dashboard/menu", lab=lab))


def refresh() -> None:
    """Let the next drawing of all bars show what was just changed."""
    _look.clear()


@st.cache_data(ttl=FRESH, show_spinner=False)
def _look(_store: Store) -> ClassState:
    return classroom.look(_store)


def invitation(store: Store) -> dict[str, Any]:
    """The class code, the address at which learners type it, and the QR code of both, or whether phones can't reach
    them: the values of templates."""
    visited = urlsplit(st.context.url or "")
    above, _, page = visited.path.rpartition("/")
    here = above if page in {each.name for each in registry.pages()} else visited.path.rstrip("/")
    base, reachable = address.for_learners(
        store, f"{visited.scheme}://{visited.netloc}{here}" if visited.netloc else ""
    )
    code = _look(store).code
    link = f"{base}/join?code={code}"
    image, host = address.qr_code(link), base.partition("://")[2]
    return {"code": code, "address": host, "link": link, "image": image, "reachable": reachable}


def _instructor_line(store: Store, identity: Identity) -> None:
    room = _look(store)
    with st.container(horizontal=True, vertical_alignment="center", key="facts"):
        draw_pace(room.pace)
        frame.link("progress", f"{room.present} of {room.learners} here", ":material/group:")
        if waiting := len(room.waiting):
            with st.container(key="help", width="content"):
                frame.link("progress", f"{waiting} {verb(waiting, 'asks', 'ask')} for help", ":material/back_hand:")
        if room.run_id is not None:
            frame.run_link(room.run_id, f"Run {room.run_id}", ":material/play_arrow:")
        frame.project()


def _learner_line(store: Store, identity: Identity) -> None:
    room = _look(store)
    asks = identity.id in room.waiting
    label = "I no longer need help" if asks else "Ask for help"
    change = (classroom.need_help, store, identity, not asks)
    with st.container(horizontal=True, vertical_alignment="center", key="facts"):
        draw_pace(room.pace)
        if room.round_code:
            st.html(render("dashboard/quiz_link", code=room.round_code), width="content")
        about = "The instructor sees that you ask for help." if asks else "The instructor sees it on every page."
        kind: Any = "primary" if asks else "secondary"
        st.button(label, "need-help", about, _change, change, type=kind, icon=":material/back_hand:")


def _change(do: Callable[..., None], *args: Any) -> None:
    try:
        do(*args)
    except WorkshopError as error:
        st.toast(frame.plain(str(error)))
    refresh()


def draw_pace(pace: Pace) -> None:
    """Draw the pace and the timer. The script timer.js counts down."""
    rest = -OVER if pace.until is None else pace.until - time.time()
    seconds = max(math.ceil(rest), 0) if rest > -OVER else None
    if pace.lab or seconds is not None:
        st.html(render("dashboard/pace", pace=pace, seconds=seconds), width="content")


def help_requests(identity: Identity) -> None:
    """Draw the learners who ask for help, since when, with a button to mark it as answered; again every few seconds."""
    st.fragment(run_every=EVERY[identity.role])(_help_requests)(identity)


def _help_requests(identity: Identity) -> None:
    store, now = frame.store(), time.time()
    waiting = [attendance for attendance in store.attendances() if attendance.help_asked_at is not None]
    for attendance in sorted(waiting, key=lambda attendance: attendance.help_asked_at or now):
        with st.container(horizontal=True, vertical_alignment="center", key=f"help-{attendance.id}"):
            st.markdown(
                f":material/back_hand: **{frame.plain(attendance.nickname)}** asked for help "
                f"{time_ago(attendance.help_asked_at, now)}. Last action: {frame.plain(attendance.action or 'none')}.",
                width="content",
            )
            change = (classroom.answer_help, store, identity, attendance.id)
            st.button("Answered", key=f"answered-{attendance.id}", on_click=_change, args=change)


PARAMETER = "projector"
PROJECTOR_EVERY = 3.0  # seconds between looks at what to show
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
        st.fragment(run_every=PROJECTOR_EVERY)(_draw)(frame.store(), identity, session)


def _draw(store: Store, identity: Identity, session: SessionRecord | None) -> None:
    rounds = store.rounds("live", going_on=True)
    if rounds and frame.recorded() is None:
        blocks.leave(f"quiz/{rounds[0].id}/projector?follow=class")
        return
    draw_pace(classroom.pace(store))
    run = current_run(store)
    if run is not None:
        run_view(run.id, identity, projector=True)
    else:
        st.html(_class(store, session and store.session(session.name)))


def current_run(store: Store) -> RunRecord | None:
    """The run that is pinned, else the instructor's newest run that goes on or has ended lately; None without one. A
    learner's run comes to the projector by a pin alone."""
    if (pinned := classroom.pinned_run(store)) is not None:
        return store.run(pinned)
    public = {session.id for session in store.sessions() if not session.private}
    since = sessions.now(store.database) - LINGER
    taught = (run for run in store.runs(limit=50) if run.session_id in public and run.submitted_by in ("", INSTRUCTOR))
    started = (run for run in taught if run.started_at is not None)
    return next((run for run in started if not run.ended or (run.finished_at or 0.0) > since), None)


def _class(store: Store, session: SessionRecord | None) -> str:
    """The way in, the pace, the session and who is here, as HTML."""
    now = time.time()
    names = [attendance.nickname for attendance in store.attendances() if auth_middleware.is_present(attendance, now)]
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
        **invitation(store),
    )
