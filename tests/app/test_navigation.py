"""The dashboard's navigation: pages that extensions bring, in their order, and what becomes of broken ones."""

from __future__ import annotations

import sys
import types
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from tests.app.conftest import Open, switch
from tests.app.test_studies import plain
from workshop import registry
from workshop.core import config
from workshop.extension import Extension, Page
from workshop.store.records import SessionRecord
from workshop.store.store import Store
from workshop.web.pages import EXTENSION, frame, navigation
from workshop.workloads.openfl import environment

Bring = Callable[..., None]
BROKEN = navigation.broken  # as it is; `open_page` has it raise
LEARNERS = {
    "Home": ["home"],
    "Labs": ["labs"],
    "Run": ["run", "history", "session"],
    "Explore": [
        *("explore", "placement", "studies", "tuning", "nodes", "processor", "federated", "parallelism"),
        *("hangs", "scale"),
    ],
    "Quiz": ["quizzes"],
}
INSTRUCTORS = {**LEARNERS, "Run": ["run", "history"], "Class": ["progress", "session"]}


def pages_of(places: dict[str, list[str]]) -> list[str]:
    return [name for names_of_place in places.values() for name in names_of_place]


@pytest.fixture
def bring(monkeypatch: pytest.MonkeyPatch) -> Iterator[Bring]:
    """`bring(page, …)` has a stranger's extension bring these pages. Their functions are in the module `stranger`."""
    stranger = types.ModuleType("stranger")
    vars(stranger).update(hello=_hello, breaks=_breaks, leaves=_leaves)
    monkeypatch.setitem(sys.modules, "stranger", stranger)
    own = registry.extensions()

    def bring_(*pages: Page) -> None:
        monkeypatch.setattr(registry, "extensions", lambda: [*own, Extension(pages=pages)])
        registry.pages.cache_clear()

    yield bring_
    registry.pages.cache_clear()


def _hello() -> None:
    identity = frame.heading("Hello", "A stranger's page.")
    st.markdown(f"Hello, {identity.nickname}.")
    frame.run_link(3, "The third run")
    frame.link("nowhere", "Nowhere")


def _breaks() -> None:
    raise RuntimeError("it\nhas <b>no</b> luck.")


def _leaves() -> None:
    sys.exit(3)


def hello(**settings: Any) -> Page:
    return Page("hello", "Hello", "waving_hand", "stranger:hello", **settings)


def names(page: AppTest) -> list[str]:
    return list(page.session_state[frame.DECLARED])


def places(page: AppTest) -> list[str]:
    """The first links of a page are the places in the bar."""
    return [link.proto.label for link in page.get("page_link")[: len(navigation.PLACES)]]


@pytest.mark.parametrize(("role", "wanted"), [("learner", LEARNERS), ("instructor", INSTRUCTORS)])
def test_six_places_hold_all_pages(open_page: Open, role: str, wanted: dict[str, list[str]]) -> None:
    page = open_page("home", role)
    assert names(page) == pages_of(wanted)
    assert places(page)[: len(wanted)] == list(wanted)
    declared = page.session_state[frame.DECLARED]
    assert declared["home"].url_path == "" and declared["placement"].url_path == "placement"
    page = open_page("history", role)
    assert [beside.title for beside in page.session_state[frame.BESIDE]] == [
        declared[name].title for name in wanted["Run"]
    ]
    assert [beside.title for beside in open_page("hangs", role).session_state[frame.BESIDE]] == ["Explore"]


def test_each_tool_has_a_card_with_a_picture(open_page: Open) -> None:
    page = open_page("explore")
    tools = [page for page in registry.pages() if page.group == "explore" and page.name != "explore"]
    assert len(tools) == 9 and all(tool.summary and tool.picture and tool.picture.is_file() for tool in tools)
    assert all(frame.plain(tool.summary) in [part.value for part in page.markdown] for tool in tools)


def test_our_own_pages_come_through_the_contract() -> None:
    own = {page.name: page.function for page in EXTENSION.pages}
    assert own.keys() < set(pages_of(INSTRUCTORS))
    assert {page.name: page.function for page in registry.pages() if page.name in own} == own
    views = {path.stem for path in (config.app_folder() / "views").glob("*.py")} - {"__init__"}
    assert {f"views.{view}:page" for view in views} < set(own.values()), "each view is a page"


def test_a_stranger_s_page_is_drawn_with_our_blocks(open_page: Open, bring: Bring) -> None:
    bring(hello())
    page = open_page("hello")
    assert "Hello, Learner." in plain(page) and "Nowhere" in plain(page)
    assert names(page)[-2:] == ["hello", "quizzes"], "it stands in Explore, after ours"
    link = next(link for link in page.get("page_link") if link.proto.label == "The third run")
    assert (link.proto.page, link.proto.query_string, link.proto.label) == ("run", "run=3", "The third run")


@pytest.mark.parametrize(
    ("function", "said"),
    [
        ("stranger:breaks", "The page Broken can't be shown: it has <b>no</b> luck."),
        ("stranger:leaves", "The page Broken can't be shown: 3."),
        ("stranger:absent", "The page Broken can't be shown: module 'stranger' has no attribute 'absent'."),
        ("no_such_package.page:page", "The page Broken can't be shown: No module named 'no_such_package'."),
    ],
)
def test_a_broken_page_says_so_in_a_sentence(
    open_page: Open, bring: Bring, monkeypatch: pytest.MonkeyPatch, function: str, said: str
) -> None:
    bring(Page("broken", "Broken", "no such icon", function), hello())
    monkeypatch.setattr(navigation, "broken", BROKEN)
    page = open_page("broken")
    assert [error.value.replace("\\", "") for error in page.error] == [said]
    switch(page, "hello")
    assert "Hello, Learner." in plain(page.run()), "the others go on"


def test_who_sees_a_page(open_page: Open, bring: Bring) -> None:
    bring(hello(roles=("instructor",)))
    assert "hello" in names(open_page("hello", "instructor"))
    assert "hello" not in names(open_page("home"))
    assert "Hello, Learner." not in plain(open_page("hello")), "not by its address either"


def test_a_page_can_t_take_our_name_nor_the_root(open_page: Open, bring: Bring, store: Store) -> None:
    bring(Page("run", "Mine", "school", "stranger:hello"), hello(order=1))
    assert names(open_page("run")).index("hello") == names(open_page("run")).index("explore") + 1
    assert "Set up a run" in "".join(one.value for one in open_page("run").subheader)
    assert "Your next step" in "".join(one.value for one in open_page("home").markdown)


@pytest.mark.parametrize("name", ["", "a/b", "A", "1st", "a b", "../x", "é"])
def test_a_name_has_to_fit_an_address(name: str) -> None:
    with pytest.raises(ValueError, match="needs a title, and a name like hello-2"):
        Page(name, "Title", "school", "stranger:hello")


def test_what_is_not_installed_is_marked_before_its_form(
    open_page: Open, session: SessionRecord, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(environment, "installed", lambda: None)
    page = open_page("run", workload="openfl")
    assert "A real federation with OpenFL (not installed)" in page.selectbox[0].options
    assert "OpenFL isn't installed here; the instructor runs" in plain(page)
    assert not page.number_input, "nobody fills in a form for it"
