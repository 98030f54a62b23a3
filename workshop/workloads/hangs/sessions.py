"""A look at the ranks of a session that is up, in a run or a notebook's cell. They have no records, so that calls are
known by name and place only."""

from __future__ import annotations

import socket
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import psutil

from workshop.core.errors import BadInput
from workshop.store.records import SessionRecord
from workshop.workloads.hangs.diagnosis import Diagnosis, diagnose
from workshop.workloads.hangs.sampler import look
from workshop.workloads.hangs.states import RankState

IDLE = ("workshop/engine/ipython.py", "workshop/engine/host.py")  # innermost files of a rank that waits for work
LOOK = 1.0  # seconds between two looks


def watch_session(session: SessionRecord, after: float) -> tuple[Diagnosis | None, list[RankState]]:
    """Look at the ranks of a session for some seconds. Returns why they wait, None where they move or wait for work,
    and what each rank does. Raises BadInput where the session has no ranks on this machine."""
    reports = (session.rank_map or {}).get("ranks", [])
    here = [report for report in reports if report["host"] == socket.gethostname()]
    if not here or session.state in ("stopped", "failed", "lost"):
        raise BadInput(
            f"Session {session.name} has no ranks on this machine; start it, or look on the host of its ranks."
        )
    deadline = time.monotonic() + after
    states = _states(reports, here)
    while True:
        if all(_idle(state) for state in states):
            return None, _named(states)
        time.sleep(min(LOOK, max(deadline - time.monotonic(), 0)))
        before, states = states, _states(reports, here)
        if [_still(state) for state in before] != [_still(state) for state in states]:
            return None, _named(states)
        if time.monotonic() >= deadline:
            states = _named(states)
            diagnosis = diagnose(states)
            return (diagnosis if diagnosis is not None and diagnosis.hang else None), states


def _named(states: Sequence[RankState]) -> list[RankState]:
    """The states, with those that wait for work as such: for the other ranks they have ended."""
    return [
        replace(state, does="ended", detail="it waits for work", deliberate=True) if _idle(state) else state
        for state in states
    ]


def _states(reports: Sequence[Mapping[str, Any]], here: Sequence[Mapping[str, Any]]) -> list[RankState]:
    """Look at each rank of this machine; ranks of other hosts can't be seen."""
    states = []
    for report in reports:
        rank, pid = report["rank"], report["pid"]
        if report not in here:
            states.append(RankState(rank, None, "unknown", detail="it runs on another host"))
        elif not psutil.pid_exists(pid):
            states.append(RankState(rank, pid, "ended", detail="its process is gone", deliberate=True))
        else:
            states.append(look(rank, pid))
    return states


def _idle(state: RankState) -> bool:
    return state.does != "mpi" and any(file in state.place for file in IDLE)


def _still(state: RankState) -> tuple[object, ...]:
    return state.does, state.place, state.call and state.call.name
