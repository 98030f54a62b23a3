"""The form of a placement, as every page has it."""

from __future__ import annotations

import pytest
from streamlit.testing.v1 import AppTest

from tests.support import limit
from workshop import mpi
from workshop.web.pages import fields


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
