"""The right answers of predict questions, computed from the metrics of runs."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from workshop.core import words
from workshop.core.errors import BadInput, WorkshopError
from workshop.core.placement import Placement
from workshop.quiz import expressions
from workshop.quiz.parts import RunWanted
from workshop.quiz.types.number import Predict
from workshop.registry import workload, workload_title
from workshop.sessions import client
from workshop.store.records import Identity, RunRecord, RunStatus, SessionRecord
from workshop.store.store import Store

MAX_GAP = 600.0  # seconds between runs; after a longer time the load of the machine may differ
PAGE = 100  # runs per query


@dataclass(frozen=True)
class Truth:
    """The measured value, or one sentence with the reason why there is none."""

    value: float | None
    problem: str
    words: str  # how it was measured: the runs and their durations


def required_runs(question: Predict) -> dict[str, RunWanted]:
    """The runs from which the answer is computed, with params and placement fields in the form in which runs keep
    them. Raises BadInput if a workload isn't installed, or can't be run with these params or on this placement."""
    runs = {}
    for name, run in question.runs.items():
        params = workload(run.workload).check(run.params).model_dump(mode="json")
        placement = Placement.parse(run.placement).as_json()
        params, placement = {key: params[key] for key in run.params}, {key: placement[key] for key in run.placement}
        runs[name] = RunWanted(workload=run.workload, params=params, placement=placement)
    return runs


def latest(
    store: Store, question: Predict, identity_id: int | None, status: RunStatus | None = None
) -> dict[str, RunRecord]:
    """An identity's newest runs with the workload, params and placement fields of the required runs, by name; missing
    runs are omitted. Identity None has the runs of the command line and of the instructor. Without a `status`, runs
    that are completed or under way come before failed ones. Raises BadInput as `required_runs` does."""
    runs: dict[str, RunRecord] = {}
    failed: dict[str, RunRecord] = {}
    for name, run in _fitting(store, question, identity_id, status):
        (failed if run.ended and run.status != "completed" else runs).setdefault(name, run)
        if len(runs) == len(question.runs):
            break
    runs = {**failed, **runs}
    return {name: runs[name] for name in question.runs if name in runs}


def _fitting(
    store: Store, question: Predict, identity_id: int | None, status: RunStatus | None
) -> Iterator[tuple[str, RunRecord]]:
    """An identity's matching runs, the newest of each workload first, with the name of the required run."""
    required = required_runs(question)
    for workload_name in dict.fromkeys(run.workload for run in required.values()):
        before: int | None = None
        while runs := store.runs(None, workload_name, status, limit=PAGE, before_id=before):
            for run in (record for record in runs if record.identity_id == identity_id):
                yield from ((name, run) for name, requirement in required.items() if _fits(run, requirement))
            before = runs[-1].id


def _fits(run: RunRecord, requirement: RunWanted) -> bool:
    return (
        run.workload == requirement.workload
        and all(run.params.get(key) == value for key, value in requirement.params.items())
        and all(run.placement.get(key) == value for key, value in requirement.placement.items())
    )


def submit(
    store: Store,
    session: SessionRecord,
    question: Predict,
    identity: Identity | None,
    have: Mapping[str, int] | None = None,
) -> dict[str, int]:
    """Put the required runs into a session's queue, except those in `have`; return the ids by name. A learner's
    unfinished runs are limited: the rest can be submitted later. Raises BadInput if none can be submitted."""
    submitted: dict[str, int] = {}
    mpi = session.placement.get("mpi", "openmpi")
    for name, run in required_runs(question).items():
        if name in (have or {}):
            continue
        try:
            placement = {"mpi": mpi, **run.placement}
            queued = client.submit(store, session, run.workload, run.params, placement, identity=identity)
        except BadInput:
            if submitted:
                break
            raise
        submitted[name] = queued.id
    return submitted


def value(store: Store, question: Predict, runs: Mapping[str, int]) -> Truth:
    """Evaluate the question's expression over the metrics of these runs, whose ids are given by name."""
    if missing := [name for name in question.runs if name not in runs]:
        return Truth(None, f"There is no run yet for {words.listed(missing)}.", "")
    try:
        records = {name: store.run(runs[name]) for name in question.runs}
    except WorkshopError as error:
        return Truth(None, str(error), "")
    for run in records.values():
        if run.status != "completed":
            return Truth(None, failure_reason(run), "")
    description = "; ".join(described(run) for run in records.values()) + _gap_note(list(records.values()))
    try:
        result = expressions.evaluate(question.truth, {name: metrics(run) for name, run in records.items()})
    except ValueError as error:
        return Truth(None, f"The runs don't tell the answer: {error}.", description)
    return Truth(result, "", description)


def recent(run: RunRecord) -> bool:
    """Whether a run is recent enough to be compared with a new one."""
    return time.time() - (run.finished_at or run.queued_at) <= MAX_GAP


def _gap_note(runs: list[RunRecord]) -> str:
    """A note about compared runs between which much time has passed; empty for other runs."""
    times = [run.started_at for run in runs if run.started_at is not None]
    between = max(times, default=0.0) - min(times, default=0.0)
    if between <= MAX_GAP:
        return ""
    return f"; they were made {words.long(between)} apart, so what else the machine did may be part of the difference"


def metrics(run: RunRecord) -> dict[str, Any]:
    """The values of a run for an expression: its metrics, and its duration as `seconds` if no metric has that name."""
    return ({} if (lasted := _lasted(run)) is None else {"seconds": lasted}) | run.metrics


def described(run: RunRecord) -> str:
    """A finished run in a few words: run 12: kmeans on 4 ranks, 2.3 s."""
    lasted = _lasted(run)
    took = "" if lasted is None else f", {words.seconds(lasted)}"
    return f"run {run.id}: {workload_title(run.workload)} on {words.count(run.placement.get('ranks', 1), 'rank')}{took}"


def _lasted(run: RunRecord) -> float | None:
    """Seconds from a run's start to its end."""
    return None if run.started_at is None or run.finished_at is None else run.finished_at - run.started_at


def failure_reason(run: RunRecord) -> str:
    """Why a run has no usable metrics; one sentence."""
    if not run.ended:
        return f"Run {run.id} has not ended yet: it is {run.status}."
    message = str((run.error or {}).get("message", "")).strip().partition("\n")[0].rstrip(".")
    why = f": {message}" if message else ""
    was = {"failed": "failed", "cancelled": "was cancelled", "interrupted": "was interrupted"}[run.status]
    return f"Run {run.id} ({run.workload}) {was}{why}; run it again."
