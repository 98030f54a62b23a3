"""Guided failures: placements that go wrong in instructive ways, their fixes, and the two runs side by side."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import streamlit as st

from workshop.core import topology, words
from workshop.core.placement import Host, Placement
from workshop.mpi import inventory
from workshop.pages import blocks, frame, links, predictions
from workshop.report.failures import Failure, failures
from workshop.report.sentences import STATUS
from workshop.server import actions
from workshop.store.records import Identity, RunRecord, SessionRecord

EVERY = 3.0  # seconds between looks while one of these runs goes on
RECENT = 300  # runs among which those of these placements are looked for
BROKEN, FIXED = "Run it", "Run the fix"


def guided(session: SessionRecord | None, identity: Identity) -> None:
    """All failures that the session can show; looked at again while a run of theirs goes on."""
    if session is None:
        st.markdown("No session has been launched yet; these need one.")
        return
    st.markdown(
        "Each of these is a placement that goes wrong. Predict what happens, run it, run the fix, compare the two."
    )
    if not session.machine.get("units"):
        st.markdown("The session has not told yet which machine it is on.")
        return
    going_on = any(run is not None and not run.ended for _, *pair in _run_already(session) for run in pair)
    st.fragment(run_every=EVERY if going_on else None)(_all)(session.id, identity, going_on)


def _all(session_id: int, identity: Identity, live: bool) -> None:
    session = frame.store().session(session_id)
    failures_with_runs = _run_already(session)
    if live and all(run is None or run.ended for _, *pair in failures_with_runs for run in pair):
        st.rerun()  # the whole page once more, which no longer asks
    if why := frame.not_up(session):
        st.info(why, icon=":material/info:")
    for failure, broken, fixed in failures_with_runs:
        with st.container(border=True):
            _failure(failure, (broken, fixed), session, identity)


def _run_already(session: SessionRecord) -> list[tuple[Failure, RunRecord | None, RunRecord | None]]:
    """Each failure with its newest run and the newest run of its fix."""
    machine = session.machine
    here = session.site["kind"] == "local"
    cores = topology.allowed_cores(machine) if here else len({unit["core"] for unit in machine["units"]})
    hosts = tuple(Host(**host) for host in session.placement.get("hosts") or [])
    runs = frame.store().runs(session_id=session.id, limit=RECENT)
    return [
        (failure, _latest(runs, failure, failure.broken), _latest(runs, failure, failure.fixed))
        for failure in failures(cores, hosts, inventory.installed())
    ]


def _failure(
    failure: Failure, pair: tuple[RunRecord | None, RunRecord | None], session: SessionRecord, identity: Identity
) -> None:
    st.markdown(f"#### {frame.plain(failure.title)}\n\n{frame.plain(failure.shows)}")
    if not predictions.ask_first(f"failure/{failure.name}", identity):
        return
    several = bool(session.placement.get("hosts"))
    possible = session.up and (several or not failure.needs_hosts)
    sides = ((BROKEN, failure.broken, pair[0]), (FIXED, failure.fixed, pair[1]))
    for column, (label, placement, run) in zip(st.columns(2), sides, strict=True):
        with column:
            variables = [f"{name}={value}" for name, value in placement.environment.items()]
            st.caption(frame.plain(", ".join([placement.describe(), *variables])))
            key = f"{failure.name}-{label}"
            if st.button(label, key=key, disabled=not possible, type="primary" if label == BROKEN else "secondary"):
                _submit(failure, placement, session, identity)
            _outcome(run)
    if failure.needs_hosts and not several:
        st.caption("This one needs a session over several hosts, which the instructor launches.")
    broken, fixed = pair
    if broken is not None and fixed is not None and broken.ended and fixed.ended:
        st.markdown(f"**Look for:** {frame.plain(failure.look_for)}")
        links.compare_link((broken.id, fixed.id))


def _submit(failure: Failure, placement: Placement, session: SessionRecord, identity: Identity) -> None:
    with blocks.errors():
        actions.submit(frame.store(), identity, session, failure.workload, failure.params, placement.as_json())
        st.rerun()


def _latest(runs: list[RunRecord], failure: Failure, placement: Placement) -> RunRecord | None:
    """The newest run of a failure's workload on this placement; runs that it leaves to any hosts have the session's."""

    def bare(placement_values: Mapping[str, Any]) -> dict[str, Any]:
        return Placement.parse({**placement_values, **({} if failure.needs_hosts else {"hosts": ()})}).as_json()

    expected = bare(placement.as_json())
    return next(
        (
            run
            for run in runs
            if run.workload == failure.workload
            and all(run.params.get(name) == value for name, value in failure.params.items())
            and bare(run.placement) == expected
        ),
        None,
    )


def _outcome(run: RunRecord | None) -> None:
    """How the newest run went, and the way to its page."""
    if run is None:
        return
    links.run_link(run.id, f"Run {run.id} · {STATUS[run.status]}")
    if run.verdict:
        st.markdown(f"**{frame.plain(run.verdict['verdict'])}** {_took(run)}{frame.plain(run.verdict['why'])}")


def _took(run: RunRecord) -> str:
    """How long the part took that the two runs differ in: all of a run has its start and its data in it."""
    parts = (run.metrics or {}).get("seconds") or {}
    seconds = parts.get("fit", parts.get("train"))
    return f"({words.seconds(seconds)} of work) " if seconds is not None else ""
