"""Ways from one page of the dashboard to another one, by the page's name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import streamlit as st

DECLARED = "declared-pages"  # where a visitor's session keeps its pages by name


def link(page: str, label: str, icon: str | None = None, query: Mapping[str, str] | None = None) -> None:
    """A link to a page; a page that the visitor doesn't have is named without a link."""
    if (found := _declared().get(page)) is not None:
        st.page_link(found, label=label, icon=icon, query_params=query)
    else:
        st.markdown(label)


def go(page: str) -> None:
    """Leave this page for another one, where the visitor has that."""
    if (found := _declared().get(page)) is not None:
        st.switch_page(found)


def run_link(run_id: int, label: str, icon: str | None = ":material/monitoring:") -> None:
    """A link to a run's page."""
    link("run", label, icon, {"run": str(run_id)})


def compare_link(run_ids: Iterable[int]) -> None:
    """A link to two runs side by side."""
    link("history", "Compare the two", ":material/compare:", {"compare": ",".join(map(str, run_ids))})


def _declared() -> Mapping[str, Any]:
    return st.session_state.get(DECLARED, {})
