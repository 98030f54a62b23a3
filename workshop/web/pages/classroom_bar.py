"""The class's part of the bar: for the instructor the code and the run that goes on, for learners the pace and help.
Beside it stands the visitor's menu."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

import streamlit as st

from workshop.core.errors import WorkshopError
from workshop.core.words import verb
from workshop.course.progress import time_ago
from workshop.store.records import Identity
from workshop.store.store import Store
from workshop.web import address, classroom
from workshop.web.classroom import ClassState, Pace
from workshop.web.pages import frame, links
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
        links.link("labs", "Glossary", ":material/book_2:", {"show": "glossary"})
        links.link("labs", "Dictionary of frameworks and launchers", ":material/translate:", {"show": "dictionary"})
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
    base, reachable = address.for_learners(store, f"{visited.scheme}://{visited.netloc}" if visited.netloc else "")
    code = _look(store).code
    link = f"{base}/join?code={code}"
    image, host = address.qr_code(link), base.partition("://")[2]
    return {"code": code, "address": host, "link": link, "image": image, "reachable": reachable}


def _instructor_line(store: Store, identity: Identity) -> None:
    room = _look(store)
    with st.container(horizontal=True, vertical_alignment="center", key="facts"):
        draw_pace(room.pace)
        links.link("progress", f"{room.present} of {room.learners} here", ":material/group:")
        if waiting := len(room.waiting):
            with st.container(key="help", width="content"):
                links.link("progress", f"{waiting} {verb(waiting, 'asks', 'ask')} for help", ":material/back_hand:")
        if room.run_id is not None:
            links.run_link(room.run_id, f"Run {room.run_id}", ":material/play_arrow:")
        links.project()


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
        st.button(label, icon=":material/back_hand:", key="need-help", help=about, on_click=_change, args=change)


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
