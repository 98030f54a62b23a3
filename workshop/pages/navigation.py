"""The dashboard's navigation: the pages of all extensions, in their order."""

from __future__ import annotations

import logging
from functools import partial
from typing import Any

import streamlit as st
from streamlit.errors import FragmentHandledException, StreamlitAPIException

from workshop import registry
from workshop.extension import Page, load
from workshop.pages import frame, links

LOG = logging.getLogger(__name__)


def navigate(root: str) -> None:
    """Show the navigation, and draw the page that the visitor has chosen. The page named `root` stands at the root
    address, wherever it is in the order."""
    declared = {page.name: _declared(page, page.name == root) for page in registry.pages() if _sees(page)}
    st.session_state[links.DECLARED] = declared
    st.navigation(list(declared.values()), position="top").run()


def _sees(page: Page) -> bool:
    """Whether the visitor sees the page. Finding the visitor's role needs the store, but most pages are for
    everybody."""
    return set(page.roles) == {"learner", "instructor"} or frame.visitor().role in page.roles


def _declared(page: Page, default: bool) -> Any:
    """The page as Streamlit knows it; without its icon where Streamlit has no such icon."""
    draw = partial(_draw, page)
    about = {"title": page.title, "url_path": page.name, "default": default}
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
    if isinstance(error, ModuleNotFoundError) and error.name == "altair":
        why = "Streamlit's own charts need altair, which is not installed; draw the figure with Plotly and draw_figure"
    st.error(frame.plain(f"The page {page.title} can't be shown: {why.rstrip('.')}."), icon=":material/error:")
