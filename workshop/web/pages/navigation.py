"""The dashboard's navigation: a bar with six places, and the pages of all extensions in them.

Drawings take turns: Streamlit would draw all at once, and then every page is slow. As many are drawn at once as there
are cores; the instructor doesn't wait. Streamlit itself keeps only a page's newest request.
"""

from __future__ import annotations

import base64
import logging
import os
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import streamlit as st
from streamlit.errors import FragmentHandledException, StreamlitAPIException

from workshop import registry
from workshop.extension import Group, Page, load
from workshop.store.records import Identity
from workshop.web.pages import blocks, classroom_bar, frame
from workshop.web.templates import render

ABREAST = 3  # cards
LOG = logging.getLogger(__name__)
PLACES: Mapping[Group, tuple[str, str]] = {
    "home": ("Home", "home"),
    "labs": ("Labs", "menu_book"),
    "run": ("Run", "play_circle"),
    "explore": ("Explore", "explore"),
    "quiz": ("Quiz", "quiz"),
    "class": ("Class", "groups"),
}  # each place's title and icon


def navigate(root: str) -> None:
    """Draw the bar, and the page that the visitor has chosen. The page named `root` stands at the root address,
    wherever it is in the order."""
    identity = frame.visitor()
    visible = visible_pages(identity)
    declared = {page.name: _declared(page, page.name == root) for page in visible}
    st.session_state[frame.DECLARED] = declared
    chosen = st.navigation(list(declared.values()), position="hidden")
    name = next((name for name, page in declared.items() if page.url_path == chosen.url_path), root)
    st.session_state[frame.PAGE] = page = next(page for page in visible if page.name == name)
    here = group_of(page, identity)
    beside = [page for page in visible if group_of(page, identity) == here]
    if here == "explore":  # its pages have cards, since they are too many for a row
        beside = [page for page in beside[:1] if page.name != name]
    elif len(beside) == 1:
        beside = []
    st.session_state[frame.BESIDE] = [declared[page.name] for page in beside]
    with turn(identity):
        if not classroom_bar.requested():
            _bar(identity, here, visible)
        chosen.run()


def visible_pages(identity: Identity) -> Sequence[Page]:
    """The pages that a visitor sees, place by place."""
    order = list(PLACES)
    visible = [page for page in registry.pages() if identity.role in page.roles]
    return sorted(visible, key=lambda page: (order.index(group_of(page, identity)), page.order))


def group_of(page: Page, identity: Identity) -> Group:
    """The place of a page. Learners have no place Class: they find its pages in Run."""
    return "run" if page.group == "class" and identity.role == "learner" else page.group


def _bar(identity: Identity, here: Group, visible: Sequence[Page]) -> None:
    """One line: the six places, what goes on in the class, and the visitor's menu."""
    first = {group_of(page, identity): page for page in reversed(visible)}
    with st.container(horizontal=True, vertical_alignment="center", key="bar"):
        with st.container(horizontal=True, key="places"):
            for group in PLACES:
                if group in first:
                    title, icon = PLACES[group]
                    with st.container(key=f"place-{group}{'-here' if group == here else ''}", width="content"):
                        frame.link(first[group].name, title, f":material/{icon}:")
        classroom_bar.bar(identity)


def explore() -> None:
    """The page Explore: a card for each tool, with its picture."""
    identity = frame.heading("Explore")
    tools = [page for page in visible_pages(identity) if page.group == "explore" and page.name != "explore"]
    for column, tool in blocks.abreast(tools, ABREAST):
        with column, st.container(border=True, height="stretch", key=f"tool-{tool.name}"):
            if tool.picture is not None:
                image = base64.b64encode(tool.picture.read_bytes()).decode()
                st.html(render("dashboard/tool", image=image))
            frame.link(tool.name, f"**{frame.plain(tool.title)}**", f":material/{tool.icon}:")
            if tool.summary:
                st.markdown(frame.plain(tool.summary))


def _declared(page: Page, default: bool) -> Any:
    """The page as Streamlit knows it; without its icon where Streamlit has no such icon."""
    draw = partial(_draw, page)
    about: dict[str, Any] = {"title": page.title, "url_path": page.name, "default": default}
    try:
        return st.Page(draw, icon=f":material/{page.icon}:", **about)
    except StreamlitAPIException:
        return st.Page(draw, **about)


def _draw(page: Page) -> None:
    try:
        load(page.function)()
    except FragmentHandledException:
        raise  # a part of the page failed, and Streamlit has said so in its place
    except (Exception, SystemExit) as error:  # whatever is wrong with one page, the others must go on
        broken(page, error)


def broken(page: Page, error: BaseException) -> None:
    """Say in a sentence that a page can't be shown. The traceback goes to the dashboard's log."""
    LOG.error("The page %s (%s) can't be shown.", page.title, page.function, exc_info=error)
    why = " ".join(str(error).split()) or type(error).__name__
    st.error(frame.plain(f"The page {page.title} can't be shown: {why.rstrip('.')}."), icon=":material/error:")


LONGEST_TURN = 5.0  # seconds that a drawing waits for others, which may wait for something themselves


TURNS = threading.BoundedSemaphore(len(os.sched_getaffinity(0)))  # of this process's server


@contextmanager
def turn(identity: Identity) -> Iterator[None]:
    """Wait until fewer learners' pages are drawn than there are cores."""
    has_turn = identity.role != "instructor" and TURNS.acquire(timeout=LONGEST_TURN)
    try:
        yield
    finally:
        if has_turn:
            TURNS.release()
