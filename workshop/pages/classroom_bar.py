"""The bar on every page: for the instructor how learners come in and what goes on, for learners the pace and help."""

from __future__ import annotations

import base64
import math
import time
from html import escape
from urllib.parse import urlencode, urlsplit

import streamlit as st

from workshop.core.errors import WorkshopError
from workshop.core.words import verb
from workshop.registry import workload_title
from workshop.server import address, classroom, presence
from workshop.server.classroom import ClassState, Pace
from workshop.store.records import Identity
from workshop.store.store import Store

FRESH = 3.0  # seconds for which all pages show the same look at the class
EVERY = {"instructor": 5.0, "learner": 10.0}  # seconds between two drawings of the bar, by role
OVER = 600.0  # seconds for which pages show that the time is up
UNREACHABLE = (
    "Phones and other computers can't reach this address: the dashboard listens on this machine alone. End it, and "
    "start it with <code>workshop up --host 0.0.0.0</code>; then the network of the class can reach it."
)


def bar(store: Store, identity: Identity, title: str) -> None:
    """Draw the bar of a page with this title."""
    presence.shared().visit(identity, title)
    instructor = identity.role == "instructor"
    draw = _instructor_line if instructor else _learner_line
    with st.container(horizontal=True, vertical_alignment="center", key="classroom"):
        if instructor:
            _invitation(store)
        st.fragment(run_every=EVERY[identity.role])(draw)(store, identity)


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
    """The class code with the address, and the QR code in a popover; where phones can't reach it, a sentence."""
    code, base, reachable, image = invitation(store)
    short = escape(base.partition("://")[2])
    with st.popover(f"Class code {code}", icon=":material/qr_code_2:"):
        words = f"<p>Learners open <b>{short}/join</b> and type the code <b>{escape(code)}</b>.</p>"
        words += image if reachable else f"<p>{UNREACHABLE}</p>"
        st.html(words)
    note = "" if reachable else " <b>Phones can't reach it: use <code>workshop up --host 0.0.0.0</code>.</b>"
    st.html(f'<span class="ws-bar-words">{short}/join{note}</span>', width="content")


def _instructor_line(store: Store, identity: Identity) -> None:
    room = _look(store)
    facts = [f'<a href="/progress" target="_self">{room.present} of {room.learners} here</a>']
    if waiting := len(room.waiting):
        facts.append(
            f'<a class="ws-help" href="/progress" target="_self">{waiting} {verb(waiting, "asks", "ask")} for help</a>'
        )
    if room.run_id is not None:
        title = escape(workload_title(room.workload))
        facts.append(f'<a href="/run?run={room.run_id}" target="_self">Run {room.run_id} ({title})</a>')
    screen = "/session?projector=1" if room.round_id is None else f"/quiz/{room.round_id}/projector"
    facts.append(f'<a href="{screen}" target="_blank" rel="noopener">Show on the projector</a>')
    _show([*facts, *_pace(room.pace)])


def _learner_line(store: Store, identity: Identity) -> None:
    room = _look(store)
    asks = identity.id in room.waiting
    label = "I no longer need help" if asks else "Ask for help"
    change = (store, identity, not asks)
    with st.container(horizontal=True, vertical_alignment="center"):
        st.button(label, icon=":material/back_hand:", key="need-help", on_click=_need_help, args=change)
        facts = ["The instructor sees that you ask for help."] if asks else []
        if room.round_code:
            address = escape(f"/quiz?{urlencode({'code': room.round_code})}")
            facts.append(f'<a class="ws-help" href="{address}" target="_self">A quiz goes on: come in</a>')
        _show([*facts, *_pace(room.pace)])


def _need_help(store: Store, identity: Identity, needed: bool) -> None:
    try:
        classroom.need_help(store, identity, needed)
    except WorkshopError as error:
        st.toast(escape(str(error)))
    refresh()


def _pace(pace: Pace) -> list[str]:
    """The pace and the timer as HTML. The script timer.js counts down."""
    facts = [escape(pace.words)] if pace.words else []
    if pace.until is not None and time.time() < pace.until + OVER:
        seconds = max(math.ceil(pace.until - time.time()), 0)
        words = f"{seconds // 60}:{seconds % 60:02d} left" if seconds else "Time is up"
        facts.append(f'<b class="ws-timer" data-seconds="{seconds}">{words}</b>')
    return facts


def _show(facts: list[str]) -> None:
    st.html(f'<span class="ws-bar-words">{" · ".join(facts)}</span>', width="content")
