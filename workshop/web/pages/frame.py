"""The frame of every page: the store, the visitor, the session, the heading, and links to other pages by their
names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import streamlit as st

from workshop import web
from workshop.registry import workload_title
from workshop.report.html import STYLE as CARDS
from workshop.report.sentences import rest_words, who
from workshop.store.records import Identity, RunRecord, SessionRecord
from workshop.store.sessions import RecordingOrigin
from workshop.store.sessions import recorded as recorded_in
from workshop.store.store import Store
from workshop.web import auth_middleware
from workshop.web.auth_middleware import IDENTITY_HEADER
from workshop.web.templates import render

PAGE = "page"  # where a visitor's session keeps the page that is shown
BESIDE = "pages-beside"  # where a visitor's session keeps the pages of the place that is shown
MARK = Path(web.__file__).parent / "static" / "mark.svg"
STYLE = CARDS + Path(__file__).with_name("style.css").read_text(encoding="utf-8")
SCRIPTS = [Path(__file__).with_name(name) for name in ("out.js", "timer.js", "scrolling.js", "look.js")]


def set_up() -> None:
    """Title, icon, style and scripts; the first thing on every page."""
    st.set_page_config(page_title="Distributed Training Workshop", page_icon=str(MARK), layout="wide")
    st.html(f"<style>{STYLE}</style>")
    with st.container(key="scripts"):
        script = "\n".join(path.read_text() for path in SCRIPTS)
        st.html(f"<script>{script}</script>", unsafe_allow_javascript=True)
    if (origin := recorded()) is not None:
        with st.container(key="recorded"):
            st.markdown(f":material/history: {plain(origin.words)}")


@st.cache_resource(show_spinner=False)
def store() -> Store:
    """The store, opened once for all visitors."""
    return Store.open()


@st.cache_resource(show_spinner=False)
def recorded() -> RecordingOrigin | None:
    """The recording that the page shows, if it is one. Nothing can be started there."""
    return recorded_in(store().database)


def not_up(session: SessionRecord | None) -> str:
    """Why nothing can be run now and what one can do meanwhile, as Markdown; "" where it can."""
    return plain("Nothing can be run in a recording." if recorded() is not None else rest_words(session))


def visitor() -> Identity:
    """The visitor of this page. The server has checked the cookie and put the header there."""
    key = st.context.headers.get(IDENTITY_HEADER)
    identity = store().identity(key) if key else None
    if identity is None:
        st.error("You are not in the class any more. Come in again at /join.")
        st.stop()
    return identity


def heading(title: str, words: str = "") -> Identity:
    """The page's title, with links to the other pages of its place."""
    identity = visitor()
    with st.container(horizontal=True, vertical_alignment="center", key="heading"):
        st.header(title, anchor=False, width="stretch")
        for page in st.session_state.get(BESIDE, []):
            with st.container(key=f"beside-{page.url_path}{'-here' if page.title == title else ''}", width="content"):
                st.page_link(page)
    if recorded() is None:
        auth_middleware.PRESENCE.visit(identity, title)
    if words:
        st.markdown(words)
    return identity


def choose_session() -> SessionRecord | None:
    """The session that the page is about: `?session=` or the first that is up. Asks where there are several."""
    sessions = [session for session in store().sessions() if not session.private]
    if not sessions:
        return None
    sessions.sort(key=lambda session: (session.state in ("stopped", "failed"), session.name))
    names = [session.name for session in sessions]
    wanted_name = st.query_params.get("session")
    index = names.index(wanted_name) if wanted_name in names else 0
    name = names[index]
    if len(names) > 1:
        name = st.selectbox("Session", names, index=index, key=f"choose-session-{wanted_name}", width=320)
        if name != names[index]:
            st.query_params["session"] = name
    return sessions[names.index(name)] if name in names else sessions[index]


def plain(text: str) -> str:
    """Somebody's words as they are, for a place that reads Markdown."""
    return "".join(f"\\{character}" if character in "\\`*_{}[]()<>#+-.!|~$:&" else character for character in text)


DECLARED = "declared-pages"  # where a visitor's session keeps its pages by name


def link(
    page: str, label: str, icon: str | None = None, query: Mapping[str, str] | None = None, about: str | None = None
) -> None:
    """A link to a page, with Markdown `about` it; a page that the visitor doesn't have is named without a link."""
    if (declared := _declared().get(page)) is not None:
        st.page_link(declared, label=label, icon=icon, query_params=query, help=about)
    else:
        st.markdown(label)


def go(page: str, query: Mapping[str, str] | None = None) -> None:
    """Leave this page for another one, where the visitor has that."""
    if (declared := _declared().get(page)) is not None:
        st.switch_page(declared, query_params=query)


def project() -> None:
    """A link that opens the projector's page, which follows the class, in another tab."""
    st.html(render("dashboard/project_link"), width="content")


def run_link(run_id: int, label: str, icon: str | None = ":material/monitoring:") -> None:
    """A link to a run's page."""
    link("run", label, icon, {"run": str(run_id)})


def run_links(runs: Iterable[RunRecord]) -> None:
    """Links to runs, one a line, with how each stands and who submitted it."""
    for run in runs:
        run_link(run.id, f"Run {run.id} · {plain(workload_title(run.workload))} · {run.status} · {plain(who(run))}")


def compare_link(run_ids: Iterable[int]) -> None:
    """A link to two runs side by side."""
    link("history", "Compare the two", ":material/compare:", {"compare": ",".join(map(str, run_ids))})


def _declared() -> Mapping[str, Any]:
    declared: Mapping[str, Any] = st.session_state.get(DECLARED, {})
    return declared
