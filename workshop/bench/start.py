"""How long a run takes from its submission to its first step, and what that costs in processor time.

Every turn is a session of its own with three runs of one workload: `cold` is the first one of the session, on the
ranks that are up; `warm` is the same again; `another` asks for another placement, for which ranks have to start.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import psutil

from workshop import bench
from workshop.bench import own_state
from workshop.core import processes, topology
from workshop.core.errors import WorkshopError
from workshop.core.placement import Placement, default_for
from workshop.runtime import client
from workshop.runtime.lifecycle import private_session
from workshop.store.records import SessionRecord
from workshop.store.store import Store

SECONDS = 300.0  # for one run; it takes less than ten on an idle machine
LOOK = 0.02  # seconds between two looks for the first step
KINDS = ("cold", "warm", "another")
PACKAGES = ("tensorflow-cpu", "keras", "openmpi", "mpi4py", "ipyparallel")
PARAMS: dict[str, dict[str, Any]] = {
    "kmeans": {"data": "blobs", "points": 100_000, "iterations": 5, "tolerance": 0},
    "mnist": {"data": "digits", "steps": 20, "checkpoint": "off"},
}
Turn = dict[str, tuple[float, float]]  # kind -> seconds and processor seconds


def run(
    repeats: int = 5,
    names: Sequence[str] = tuple(PARAMS),
    progress: bench.Progress = lambda done, total: None,
    warm_up: int = 1,
) -> dict[str, Any]:
    """Measure, while the caller holds the machine for measuring; returns the bench as JSON. Raises WorkshopError.

    Values are seconds from the submission to the first event that has a step, on the clock of this machine, and the
    seconds of processor time that the processes of the session took until then, together.
    """
    with own_state(), Store.open() as store:
        where = bench.machine(PACKAGES)
        placement = default_for(topology.allowed_cores(where))
        turns = {name: _turn(store, placement, name) for name in names}
        results = bench.interleaved(turns, repeats, progress, mirrored=True, warm_up=warm_up)
    return document({**where, "placement": placement.describe()}, results)


def document(where: Mapping[str, Any], results: Mapping[str, Sequence[Turn]]) -> dict[str, Any]:
    """The bench as JSON from what every turn of every workload took."""
    rows = []
    for name, turns in results.items():
        for kind in KINDS:
            rows.append(bench.row(f"{name}_{kind}", [turn[kind][0] for turn in turns], "s"))
            rows.append(bench.row(f"{name}_{kind}_cpu", [turn[kind][1] for turn in turns], "CPU s"))
    return bench.document("start", where, rows, {})


def _turn(store: Store, placement: Placement, name: str) -> Callable[[], Turn]:
    other = placement.model_copy(update={"threads": placement.threads_per_rank + 1})

    def turn() -> Turn:
        with private_session(store, placement) as session:
            return {kind: _measured(store, session, name, other if kind == "another" else placement) for kind in KINDS}

    return turn


def _measured(store: Store, session: SessionRecord, name: str, placement: Placement) -> tuple[float, float]:
    """Seconds, and processor seconds of the session, from the submission of a run to its first step."""
    tag = processes.session_tag(session.id)
    before = _worked(tag)
    submitted = client.submit(store, session, name, PARAMS[name], placement.as_json())
    step_times: list[float] = []
    deadline = time.monotonic() + SECONDS
    run = store.run(submitted.id)
    while not step_times and not run.ended:
        if time.monotonic() > deadline:
            raise WorkshopError(f"The run of {name} has told of no step within {SECONDS:.0f} s.")
        time.sleep(LOOK)
        run = store.run(run.id)
        step_times = [event.time for event in store.events(run.id) if event.step is not None]
    after = _worked(tag)
    ended = client.wait(store, run.id, timeout=SECONDS)
    if ended.status != "completed" or not step_times:
        why = ended.error["message"] if ended.error else f"it is {ended.status} and told of {len(step_times)} steps"
        raise WorkshopError(f"The run of {name} did not complete: {why}")
    # What a process took that has ended meanwhile is not known: those are the former ranks, which did nothing more.
    worked = sum(now - before.get(pid, 0.0) for pid, now in after.items())
    return min(step_times) - ended.queued_at, worked


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
