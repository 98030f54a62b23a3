"""Which study a page is about that shows one of its kind."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st
from parts import frame

from workshop.core.errors import WorkshopError
from workshop.server.numbers import number
from workshop.store.records import StudyRecord


def chosen(studies: Sequence[StudyRecord], kind: str, other: str, newest: str) -> StudyRecord | None:
    """`?study=`, or the newest of `studies`, which come first. Of one of another kind the page says that it is none
    of the `other`, of one that isn't there that this is the `newest` one."""
    given = st.query_params.get("study")
    if given is None:
        return studies[0] if studies else None
    try:
        found = frame.store().study(number(given))
        if found.kind == kind:
            return found
        st.warning(f"Study {found.id} is none of {other}; the page Studies shows it.")
    except (WorkshopError, ValueError):
        st.warning(f"There is no study {frame.plain(given[:40])}; here is the newest {newest}.")
    return studies[0] if studies else None
