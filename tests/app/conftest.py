"""Pages under Streamlit's own test runner, on a seeded store."""

from __future__ import annotations

import gc
import json
import logging
from collections.abc import Callable, Iterator

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest
from streamlit.util import calc_hash

from tests.support import limit
from tests.web import seed
from workshop.core import config
from workshop.extension import Page
from workshop.store.records import Identity, SessionRecord
from workshop.store.store import Store
from workshop.web import auth
from workshop.web.pages import frame, navigation

Open = Callable[..., AppTest]


def switch(page: AppTest, name: str) -> None:
    """Have the next run show the page of that name. AppTest itself only knows pages that are files."""
    page._page_hash = calc_hash(name)


def figures(page: AppTest) -> list[str]:
    """The figures of a page, as Plotly's JSON."""
    drawn = [part.proto for part in page.get("bidi_component") if part.proto.component_name == "workshop_figure"]
    return [json.loads(part.json)["figure"] for part in drawn]


def _raise(page: Page, error: BaseException) -> None:
    """A page that fails here is a failed test, not a sentence for a visitor."""
    raise error


@pytest.fixture(autouse=True, scope="module")
def small_heap() -> None:
    """Streamlit collects garbage for every drawing of a page where Keras is imported, which another test may have done.
    What the worker has by then stays, and is not looked through again: that takes a quarter of a second."""
    gc.freeze()


@pytest.fixture
def session(store: Store) -> Iterator[SessionRecord]:
    """One whose conductor seems to live for as long as the test: a page's first drawing may take longer than a session
    may be silent."""
    with seed.alive(store, "class") as made:
        yield made


@pytest.fixture
def open_page(store: Store, monkeypatch: pytest.MonkeyPatch) -> Iterator[Open]:
    """`open_page("run", role="learner", run="3")` runs a page as somebody who has come in through the door, which
    AppTest knows nothing of."""
    logging.getLogger("streamlit").setLevel(logging.ERROR)
    monkeypatch.syspath_prepend(str(config.app_folder()))
    monkeypatch.setattr(navigation, "broken", _raise)
    frame.store.clear()
    st.cache_data.clear()  # what an earlier test has asked the mapper
    visitors: dict[str, Identity] = {}

    def open_(name: str, role: str = "learner", **query: str) -> AppTest:
        if role not in visitors:
            visitors[role] = auth.let_in(store, role, role.capitalize())[0]
        monkeypatch.setattr(frame, "visitor", lambda: visitors[role])
        page = AppTest.from_file(str(config.app_folder() / "streamlit_app.py"), default_timeout=limit(30))
        page.query_params.update(query)
        switch(page, name)
        page.run()
        assert not page.exception, page.exception
        return page

    yield open_
    frame.store().close()
    frame.store.clear()
