"""Guided failures of federations: run the mistake, run the fix, compare the two. Failures over OpenFL are commands."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import streamlit as st

from workshop.pages import blocks, frame, links, predictions
from workshop.server import actions
from workshop.store.records import Identity, RunRecord, SessionRecord
from workshop.workloads.federated.failures import SIDES, FederatedFailure, Which, federated_failures

Newest = Mapping[Which, RunRecord | None]  # of a failure and of its fix
EVERY = 3.0  # seconds between looks while one of these runs goes on
RECENT = 300  # newest runs that are searched for those of these failures
BUTTONS: Mapping[Which, str] = {"broken": "Run it", "fixed": "Run the fix"}


def guided(session: SessionRecord | None, identity: Identity) -> None:
    """Draw all failures, and refresh them while one of their runs goes on."""
    st.markdown("Each of these goes wrong in its own way. Predict what happens, run it, run the fix, compare the two.")
    live = any(run is not None and not run.ended for pair in _newest().values() for run in pair.values())
    st.fragment(run_every=EVERY if live else None)(_all)(session.id if session else None, identity, live)


def _all(session_id: int | None, identity: Identity, live: bool) -> None:
    newest = _newest()
    if live and all(run is None or run.ended for pair in newest.values() for run in pair.values()):
        st.rerun()  # draws the page without further refreshes
    session = frame.store().session(session_id) if session_id is not None else None
    for failure in federated_failures():
        where = " · OpenFL" if failure.needs_openfl else ""
        with st.expander(f"{frame.plain(failure.title)}{where}", icon=":material/report:"):
            _draw_failure(failure, newest[failure.name], session, identity)


def _newest() -> dict[str, Newest]:
    """Return the newest run of each failure and of its fix."""
    return _newest_cached(tuple((run.id, run.queued_at, run.status) for run in frame.store().runs(limit=1)))


@st.cache_resource(ttl=EVERY - 0.5, max_entries=32, show_spinner=False)
def _newest_cached(newest: tuple[object, ...]) -> dict[str, Newest]:
    """Search once for all visitors. `newest` describes the newest run of all: a new run makes a new search."""
    runs = frame.store().runs(limit=RECENT)
    return {
        failure.name: {
            which: next(
                (
                    run
                    for run in runs
                    if run.workload == failure.workload and failure.params_of(which).items() <= run.params.items()
                ),
                None,
            )
            for which in SIDES
        }
        for failure in federated_failures()
    }


def _draw_failure(failure: FederatedFailure, newest: Newest, session: SessionRecord | None, identity: Identity) -> None:
    if not predictions.ask_first(f"failure/{failure.name}", identity):
        st.markdown(frame.plain(failure.mistake))
        return
    up = session is not None and session.up
    descriptions = {"broken": failure.mistake, "fixed": failure.fix}
    for column, (which, label) in zip(st.columns(2), BUTTONS.items(), strict=True):
        with column:
            st.markdown(frame.plain(descriptions[which]))
            st.code(failure.command(which), language="bash", wrap_lines=True)
            if not failure.needs_openfl:
                kind: Literal["primary", "secondary"] = "primary" if which == "broken" else "secondary"
                if st.button(label, key=f"{failure.name}-{which}", disabled=not up, type=kind) and session is not None:
                    with blocks.errors():
                        params = failure.params_of(which)
                        actions.submit(frame.store(), identity, session, failure.workload, params, session.placement)
                        st.rerun()
            _outcome(newest[which])
    st.markdown(f"**Look for:** {frame.plain(failure.look_for)}")
    pair = [run for which in SIDES if (run := newest[which]) is not None and run.ended]
    if len(pair) == len(SIDES):
        links.compare_link(run.id for run in pair)


def _outcome(run: RunRecord | None) -> None:
    """Draw the verdict of the newest run, and a link to its page."""
    if run is None:
        return
    links.run_link(run.id, f"Run {run.id} · {run.status}")
    if run.verdict:
        st.markdown(f"**{frame.plain(run.verdict['verdict'])}** {frame.plain(run.verdict['why'])}")
