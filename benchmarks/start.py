"""Seconds from submitting a run to its first step, and the processor time of its session until then.

Every turn is a session of its own with three runs of kmeans or mnist: `cold` is the first one, on the ranks that are
up; `warm` is the same again; `another` asks for another placement, for which ranks have to start.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any

import psutil

from benchmarks import Document, document, interleaved, machine, row
from benchmarks.processes import SECONDS, own_state
from workshop.core import processes, topology
from workshop.core.errors import WorkshopError
from workshop.core.placement import Placement, default_for
from workshop.sessions import client
from workshop.sessions.lifecycle import private_session
from workshop.store.records import SessionRecord
from workshop.store.store import Store

LOOK = 0.02  # seconds between two looks for the first step
PACKAGES = ("tensorflow-cpu", "keras", "openmpi", "mpi4py", "ipyparallel")
PARAMS: dict[str, dict[str, Any]] = {
    "kmeans": {"data": "blobs", "points": 100_000, "iterations": 5, "tolerance": 0},
    "mnist": {"data": "digits", "steps": 20, "checkpoint": "off"},
}
Turn = dict[str, tuple[float, float]]  # kind of run -> seconds and processor seconds


def run(repeats: int = 5) -> Document:
    """Measure; returns the document. Raises WorkshopError."""
    with own_state(), Store.open() as store:
        where = machine(PACKAGES)
        placement = default_for(topology.allowed_cores(where))
        turns: dict[str, Callable[[], Turn]] = {name: partial(_turn, store, placement, name) for name in PARAMS}
        results = interleaved(turns, repeats)
    rows = []
    for name, answers in results.items():
        for kind in answers[0]:
            rows.append(row(f"{name}_{kind}", [turn[kind][0] for turn in answers], "s"))
            rows.append(row(f"{name}_{kind}_cpu", [turn[kind][1] for turn in answers], "CPU s"))
    return document({**where, "placement": placement.describe()}, rows)


def _turn(store: Store, placement: Placement, name: str) -> Turn:
    other = placement.model_copy(update={"threads": placement.threads_per_rank + 1})
    with private_session(store, placement) as session:
        asked = {"cold": placement, "warm": placement, "another": other}
        return {kind: _measured(store, session, name, placement) for kind, placement in asked.items()}


def _measured(store: Store, session: SessionRecord, name: str, placement: Placement) -> tuple[float, float]:
    """Seconds, and processor seconds of the session, from the submission of a run to its first step."""
    tag = processes.session_tag(session.id)
    before = _worked(tag)
    run = client.submit(store, session, name, PARAMS[name], placement.as_json())
    step_times: list[float] = []
    deadline = time.monotonic() + SECONDS
    while not step_times and not run.ended:
        if time.monotonic() > deadline:
            raise WorkshopError(f"The run of {name} has told of no step within {SECONDS:.0f} s.")
        time.sleep(LOOK)
        run = store.run(run.id)
        step_times = [event.time for event in store.events(run.id) if event.step is not None]
    after = _worked(tag)
    ended = client.wait(store, run.id, timeout=SECONDS)
    if ended.status != "completed" or not step_times:
        raise WorkshopError(f"The run of {name} did not complete: {(ended.error or {}).get('message', ended.status)}")
    # What a process took that has ended meanwhile is not known: those are the former ranks, which did nothing more.
    return min(step_times) - ended.queued_at, sum(now - before.get(pid, 0.0) for pid, now in after.items())


def _worked(tag: str) -> dict[int, float]:
    """Processor seconds by process of a session."""
    seconds = {}
    for process in processes.tagged(processes.TAG, tag):
        try:
            times = process.cpu_times()
        except psutil.Error:
            continue
        seconds[process.pid] = times.user + times.system
    return seconds
