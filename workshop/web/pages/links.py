"""Ways from one page of the dashboard to another one, by the page's name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import streamlit as st

from workshop.registry import workload_title
from workshop.report.sentences import who
from workshop.store.records import RunRecord
from workshop.web.pages import frame
from workshop.web.templates import render

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
        run_link(
            run.id,
            f"Run {run.id} · {frame.plain(workload_title(run.workload))} · {run.status} · {frame.plain(who(run))}",
        )


def compare_link(run_ids: Iterable[int]) -> None:
    """A link to two runs side by side."""
    link("history", "Compare the two", ":material/compare:", {"compare": ",".join(map(str, run_ids))})


def _declared() -> Mapping[str, Any]:
    declared: Mapping[str, Any] = st.session_state.get(DECLARED, {})
    return declared
