"""The class's part of the bar: for the instructor the code and the run that goes on, for learners the pace and help.
Beside it stands the visitor's menu."""

from __future__ import annotations

import base64
import math
import time
from html import escape
from urllib.parse import urlencode, urlsplit

import streamlit as st

from workshop.core.errors import WorkshopError
from workshop.core.words import verb
from workshop.course.progress import time_ago
from workshop.store.records import Identity
from workshop.store.store import Store
from workshop.web import address, classroom, logout
from workshop.web.classroom import ClassState, Pace
from workshop.web.pages import frame, links

FRESH = 3.0  # seconds for which all pages show the same look at the class
EVERY = {"instructor": 5.0, "learner": 10.0}  # seconds between two drawings of the bar, by role
OVER = 600.0  # seconds for which pages show that the time is up
LOOK = (
    '<p><label>Colours <select class="ws-look"><option value="System">as the system</option>'
    '<option value="Light">light</option><option value="Dark">dark</option></select></label></p>'
)  # workshop/web/pages/look.js
UNREACHABLE = (
    "Phones and other computers can't reach this address: the dashboard listens on this machine alone. End it, and "
    "start it with <code>workshop up --host 0.0.0.0</code>; then the network of the class can reach it."
)


def bar(identity: Identity) -> None:
    """Draw the class's part of the bar, and the menu."""
    store, instructor = frame.store(), identity.role == "instructor"
    draw = _instructor_line if instructor else _learner_line
    if frame.recorded() is None:
        if instructor:
            _invitation(store)
        st.fragment(run_every=EVERY[identity.role])(draw)(store, identity)
    _menu(identity)


def _menu(identity: Identity) -> None:
    icon = "school" if identity.role == "instructor" else "person"
    with st.container(key="menu", width="content"), st.popover("Menu", icon=":material/menu:"):
        st.markdown(f":material/{icon}: {frame.plain(identity.nickname)}")
        links.link("labs", "Glossary", ":material/book_2:", {"show": "glossary"})
        links.link("labs", "Dictionary of frameworks and launchers", ":material/translate:", {"show": "dictionary"})
        lab = address.jupyterlab(frame.store(), st.context.url or "") if identity.role == "instructor" else None
        st.html(
            LOOK
            + (f'<p><a href="{escape(lab)}" target="_blank">JupyterLab</a></p>' if lab else "")
            + '<p><a href="/accessibility">Accessibility</a></p>'
            + f'<p><a href="{logout.PATH}" target="_self">Log out</a></p>'
        )


def refresh() -> None:
    """Let the next drawing of all bars show what was just changed."""
    _look.clear()


@st.cache_data(ttl=FRESH, show_spinner=False)
def _look(_store: Store) -> ClassState:
    return classroom.look(_store)


def invitation(store: Store) -> tuple[str, str, bool, str]:
    """The class code, the dashboard's address for learners, whether phones reach it, and the QR code as HTML."""
    visited = urlsplit(st.context.url or "")
    base, reachable = address.for_learners(store, f"{visited.scheme}://{visited.netloc}" if visited.netloc else "")
    code = _look(store).code
    link = f"{base}/join?code={code}"
    image = base64.b64encode(address.qr_code(link)).decode()
    alt = f"QR code of {escape(link)}"
    return code, base, reachable, f'<img class="ws-qr" src="data:image/svg+xml;base64,{image}" alt="{alt}">'


def _invitation(store: Store) -> None:
    """The class code, and in a pop-over the address with its QR code, or why phones can't reach it."""
    code, base, reachable, image = invitation(store)
    short = escape(base.partition("://")[2])
    with (
        st.container(key="code", width="content"),
        st.popover(code, icon=":material/qr_code_2:", help="The class code"),
    ):
        words = f"<p>Learners open <b>{short}/join</b> and type the code <b>{escape(code)}</b>.</p>"
        words += image if reachable else f"<p>{UNREACHABLE}</p>"
        st.html(words)


def _instructor_line(store: Store, identity: Identity) -> None:
    room = _look(store)
    with st.container(horizontal=True, vertical_alignment="center", key="facts"):
        _pace(room.pace)
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
    change = (store, identity, not asks)
    with st.container(horizontal=True, vertical_alignment="center", key="facts"):
        _pace(room.pace)
        if room.round_code:
            address = escape(f"/quiz?{urlencode({'code': room.round_code})}")
            st.html(f'<a class="ws-help" href="{address}" target="_self">Quiz: come in</a>', width="content")
        about = "The instructor sees that you ask for help." if asks else "The instructor sees it on every page."
        st.button(label, icon=":material/back_hand:", key="need-help", help=about, on_click=_need_help, args=change)


def _need_help(store: Store, identity: Identity, needed: bool) -> None:
    try:
        classroom.need_help(store, identity, needed)
    except WorkshopError as error:
        st.toast(escape(str(error)))
    refresh()


def _pace(pace: Pace) -> None:
    """Draw the pace and the timer. The script timer.js counts down."""
    facts = (
        [f'<span title="{escape(pace.words)}">Lab {escape(pace.title.partition(" ")[0])}</span>'] if pace.lab else []
    )
    if pace.until is not None and time.time() < pace.until + OVER:
        seconds = max(math.ceil(pace.until - time.time()), 0)
        words = f"{seconds // 60}:{seconds % 60:02d} left" if seconds else "Time is up"
        facts.append(f'<b class="ws-timer" data-seconds="{seconds}">{words}</b>')
    if facts:
        st.html(f'<span class="ws-pace">{" · ".join(facts)}</span>', width="content")


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
            st.button("Answered", key=f"answered-{attendance.id}", on_click=_answer, args=(identity, attendance.id))


def _answer(identity: Identity, learner_id: int) -> None:
    try:
        classroom.answer_help(frame.store(), identity, learner_id)
    except WorkshopError as error:
        st.toast(escape(str(error)))
    refresh()
