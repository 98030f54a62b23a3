"""Blocks that several pages have, and forms of fields and placements."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from streamlit.testing.v1 import AppTest

from tests.support import limit
from workshop import mpi
from workshop.core.errors import BadInput
from workshop.web.pages import fields


def run(page: AppTest) -> AppTest:
    page.run()
    assert not page.exception, page.exception
    return page


def drawn(function: Callable[[], None]) -> AppTest:
    return run(AppTest.from_function(function, default_timeout=limit(30)))


def _fails() -> None:
    import streamlit as st

    from workshop.core.errors import BadInput
    from workshop.web.pages import blocks

    with blocks.errors():
        st.markdown("before")
        raise BadInput("No <b>luck</b>.")
    st.markdown("after")


def test_an_error_is_a_sentence_and_the_page_goes_on() -> None:
    page = drawn(_fails)
    assert [error.value.replace("\\", "") for error in page.error] == ["No <b>luck</b>."]
    assert "<b>" not in page.error[0].value
    assert [one.value for one in page.markdown] == ["before", "after"]


def _linked() -> None:
    import streamlit as st

    from workshop.core.errors import BadInput
    from workshop.web.pages import blocks

    def find(given: int) -> str:
        if given != 3:
            raise BadInput("There is none.")
        return "the third"

    st.session_state["found"] = blocks.linked("run", find, "there are others")


@pytest.mark.parametrize(
    ("given", "found"), [(None, None), ("3", "the third"), ("4", None), ("x", None), ("", None), ("9" * 5000, None)]
)
def test_what_the_address_names(given: str | None, found: str | None) -> None:
    page = AppTest.from_function(_linked, default_timeout=limit(30))
    if given is not None:
        page.query_params["run"] = given
    run(page)
    assert page.session_state["found"] == found
    said = [one.value for one in page.warning]
    assert said == ([] if given is None or found else [f"There is no run {given[:40]}; there are others."])


def _pick() -> None:
    from types import SimpleNamespace

    import streamlit as st

    from workshop.web.pages import blocks

    one, two, three = (SimpleNamespace(id=number) for number in (7, 8, 9))
    columns = {"Number": lambda record: record.id, "Twice": lambda record: 2 * record.id}
    picked = blocks.pick([one, two], [three, one, three], columns, "table", height=200, several=True)
    st.session_state["picked"] = [record.id for record in picked]


def test_a_table_has_the_chosen_records_too_and_they_are_picked() -> None:
    page = drawn(_pick)
    (table,) = page.dataframe
    assert table.value.to_dict("list") == {"Number": [7, 8, 9], "Twice": [14, 16, 18]}
    assert sorted(page.session_state["picked"]) == [7, 9]


def _abreast() -> None:
    from workshop.web.pages import blocks

    for column, item in blocks.abreast(["a", "b", "c"], 2):
        column.markdown(item)


def test_items_share_rows() -> None:
    page = drawn(_abreast)
    assert [[one.value for one in column.markdown] for column in page.columns] == [["a"], ["b"], ["c"], []]


def _confirmed() -> None:
    import streamlit as st

    from workshop.web.pages import blocks

    if blocks.confirmed("End", ":material/stop_circle:", "It ends.", "End it"):
        st.markdown("ended")


def test_something_is_done_after_a_yes() -> None:
    page = drawn(_confirmed)
    assert [one.value for one in page.markdown] == ["It ends."]
    page.button[0].click()
    assert [one.value for one in run(page).markdown] == ["It ends.", "ended"]


def test_lines_become_a_mapping() -> None:
    assert fields._mapping("A=1\n\n B = x=y \n", "Environment") == {"A": "1", "B": "x=y"}
    with pytest.raises(BadInput, match="NAME=value"):
        fields._mapping("A", "Environment")


def _draw() -> None:
    import streamlit as st

    from workshop.web.pages.fields import placement_form

    given = {"ranks": 3, "hosts": [{"name": "a", "slots": 3}], "mpi": "openmpi"}
    st.session_state["read"] = placement_form(given, "here")


@pytest.mark.parametrize("others", [(), ("mpich",)])
def test_it_begins_with_what_is_given(monkeypatch: pytest.MonkeyPatch, others: tuple[str, ...]) -> None:
    monkeypatch.setattr(mpi, "installed", lambda: ["openmpi", *others])
    page = AppTest.from_function(_draw, default_timeout=limit(30)).run()
    assert not page.exception
    page.number_input(key="here-ranks").set_value(4).run()
    read = page.session_state["read"]
    assert (read["ranks"], read["mpi"]) == (4, "openmpi")
    assert read["hosts"] == [{"name": "a", "slots": 3}], "hosts are the session's"
    offered = [one.key for one in (*page.segmented_control, *page.selectbox)]
    assert ("here-mpi" in offered) == bool(others), "MPIs can be chosen where there are several"
    assert set(fields.FOLDED) <= set(read) | {"mpi"}
