"""The right answers of predict questions: what came out of runs."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from workshop.core import words
from workshop.core.errors import BadInput, WorkshopError
from workshop.core.placement import Placement
from workshop.quiz import expressions
from workshop.quiz.deck import Predict
from workshop.quiz.randomisation import measured
from workshop.registry import workload
from workshop.runtime import client
from workshop.store.records import Identity, RunRecord, RunStatus, SessionRecord
from workshop.store.store import Store

APART = 600.0  # seconds; runs further apart may have met different machines
PAGE = 100  # runs that are read at a time

T = TypeVar("T")
Wanted = tuple[str, str, dict[str, Any], dict[str, Any]]  # name in the question, workload, params, placement


@dataclass(frozen=True)
class Truth:
    """What was measured, or in one sentence why there is nothing."""

    value: float | None
    problem: str
    words: str  # how it was measured: the runs, and how long each one took


def wanted(question: Predict) -> list[Wanted]:
    """The runs that the answer comes from; params and placement as runs keep them, only those that are asked for.

    Raises BadInput where a workload isn't there, or can't be run with these params or on this placement.
    """
    return [_wanted(name, run.workload, run.params, run.placement) for name, run in question.runs.items()]


def _wanted(name: str, of: str, params: Mapping[str, Any], placement: Mapping[str, Any]) -> Wanted:
    checked = workload(of).check(params).model_dump(mode="json")
    where = Placement.parse(placement).as_json()
    return name, of, {key: checked[key] for key in params}, {key: where[key] for key in placement}


def own(store: Store, question: Predict, identity_id: int | None, session_id: int | None = None) -> dict[str, int]:
    """By name the newest completed run of somebody that fits; those that they haven't made are left out.

    A run fits that has the workload and all params and fields of the placement that are asked for; the others may be
    anything. None are the runs of the command line and the instructor's. `session_id`: only runs of that session.
    Raises BadInput as `wanted` does.
    """
    found: dict[str, int] = {}
    for name, run in _fitting(store, question, identity_id, session_id, "completed"):
        found.setdefault(name, run.id)
        if len(found) == len(question.runs):
            break
    return _in_order(question, found)


def latest(store: Store, question: Predict, identity_id: int | None) -> dict[str, RunRecord]:
    """By name the newest run of somebody that fits and is completed or under way; where there is none of these, the
    newest one that came to nothing. Raises BadInput as `wanted` does."""
    found: dict[str, RunRecord] = {}
    fruitless: dict[str, RunRecord] = {}
    for name, run in _fitting(store, question, identity_id):
        (fruitless if run.ended and run.status != "completed" else found).setdefault(name, run)
        if len(found) == len(question.runs):
            break
    return _in_order(question, {**fruitless, **found})


def _fitting(
    store: Store,
    question: Predict,
    identity_id: int | None,
    session_id: int | None = None,
    status: RunStatus | None = None,
) -> Iterator[tuple[str, RunRecord]]:
    """Somebody's runs, the newest of each workload first, each with the name of what it fits."""
    asked = wanted(question)
    for of in dict.fromkeys(run.workload for run in question.runs.values()):
        before: int | None = None
        while True:
            runs = store.runs(session_id, of, status, limit=PAGE, before_id=before)
            for run in (one for one in runs if one.identity_id == identity_id):
                yield from ((one[0], run) for one in asked if _fits(run, one))
            if len(runs) < PAGE:
                break
            before = runs[-1].id


def _fits(run: RunRecord, one: Wanted) -> bool:
    _, of, params, placement = one
    same = run.workload == of and all(run.params.get(key) == value for key, value in params.items())
    return same and all(run.placement.get(key) == value for key, value in placement.items())


def _in_order(question: Predict, found: dict[str, T]) -> dict[str, T]:
    return {name: found[name] for name in question.runs if name in found}


def submit(
    store: Store,
    session: SessionRecord,
    question: Predict,
    identity: Identity | None,
    have: Mapping[str, int] | None = None,
) -> dict[str, int]:
    """Put the wanted runs into a session's queue, those of `have` left out; by the session's MPI and on its hosts.
    Returns what was submitted, by name.

    A learner may have few unfinished runs at a time: as many are submitted as are allowed, and the rest can be when
    these are done. Raises BadInput where not even one is.
    """
    submitted: dict[str, int] = {}
    mpi = session.placement.get("mpi", "openmpi")
    for name, of, params, placement in wanted(question):
        if name in (have or {}):
            continue
        try:
            run = client.submit(store, session, of, params, {"mpi": mpi, **placement}, identity=identity)
        except BadInput:
            if submitted:
                break
            raise
        submitted[name] = run.id
    return submitted


def value(store: Store, question: Predict, runs: Mapping[str, int]) -> Truth:
    """What the question's expression comes to over the metrics of these runs, by name."""
    if missing := [name for name in question.runs if name not in runs]:
        return Truth(None, f"There is no run yet for {words.listed(missing)}.", "")
    try:
        found = {name: store.run(runs[name]) for name in question.runs}
    except WorkshopError as error:
        return Truth(None, str(error), "")
    for run in found.values():
        if run.status != "completed":
            return Truth(None, why_not(run), "")
    told = "; ".join(described(run) for run in found.values()) + _apart(list(found.values()))
    try:
        came = expressions.evaluate(question.truth, {name: metrics(run) for name, run in found.items()})
    except ValueError as error:
        return Truth(None, f"The runs don't tell the answer: {error}.", told)
    return Truth(came, "", told)


def recent(run: RunRecord) -> bool:
    """Whether a run is recent enough to be compared with one that is made now."""
    return time.time() - (run.finished_at or run.queued_at) <= APART


def _apart(runs: list[RunRecord]) -> str:
    """What to say of runs that are compared and weren't made together."""
    times = [run.started_at for run in runs if run.started_at is not None]
    between = max(times, default=0.0) - min(times, default=0.0)
    if between <= APART:
        return ""
    return f"; they were made {words.long(between)} apart, so what else the machine did may be part of the difference"


def said(question: Predict, value: float) -> str:
    """A measured or guessed value in a sentence: 24.3 images/s, rank 2."""
    if question.kind == "rank":
        return f"rank {round(value)}"
    return f"{measured(value)} {question.unit}".strip()


def metrics(run: RunRecord) -> dict[str, Any]:
    """What a run's expression may name: its metrics, and `seconds` from its start to its end where it tells none."""
    return {**({} if (lasted := _lasted(run)) is None else {"seconds": lasted}), **run.metrics}


def described(run: RunRecord) -> str:
    """A run that has ended, in a few words: run 12: kmeans on 4 ranks, 2.3 s."""
    lasted = _lasted(run)
    took = "" if lasted is None else f", {words.seconds(lasted)}"
    return f"run {run.id}: {run.workload} on {words.count(run.placement.get('ranks', 1), 'rank')}{took}"


def _lasted(run: RunRecord) -> float | None:
    """Seconds from a run's start to its end."""
    return None if run.started_at is None or run.finished_at is None else run.finished_at - run.started_at


def why_not(run: RunRecord) -> str:
    """Why a run that isn't completed tells nothing; one sentence."""
    if not run.ended:
        return f"Run {run.id} has not ended yet: it is {run.status}."
    said = str((run.error or {}).get("message", "")).strip().partition("\n")[0].rstrip(".")
    why = f": {said}" if said else ""
    was = {"failed": "failed", "cancelled": "was cancelled", "interrupted": "was interrupted"}[run.status]
    return f"Run {run.id} ({run.workload}) {was}{why}; run it again."
