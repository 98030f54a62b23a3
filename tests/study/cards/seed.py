"""A store with a grid study in it, as a real one leaves it: repeats, a cell that fails, one that is pruned."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tests.report.analysis import cases
from workshop.core.placement import Placement
from workshop.registry import workload
from workshop.store.records import SessionRecord, StudyRecord
from workshop.store.store import Store
from workshop.study.grid.plan import KIND, plan

FAILED, PRUNED = -1.0, -2.0
WHY = "<b>out</b> of memory"
HOPELESS = "After 2 s it did 40 images/s, and the best does 900."
Rate = Callable[[Mapping[str, Any]], float]


def grid(
    store: Store,
    session: SessionRecord,
    axes: Mapping[str, Any],
    rate: Rate,
    repeats: int = 1,
    ended: int | None = None,
    kind: str = KIND,
    state: str = "completed",
    **more: Any,
) -> StudyRecord:
    """A grid of mnist over `axes`; `rate` tells images/s of a point, or FAILED or PRUNED. The first `ended` trials
    have ended (all, by default)."""
    wanted = plan(workload("mnist"), axes, {"batch": 32}, Placement(), repeats=repeats, shared=False)
    made = store.create_study(kind, "mnist", {**wanted.description(), **more}, wanted.trials())
    store.take_study(made.id, "seed")
    for trial in store.trials(made.id)[:ended]:
        if trial.error is None:
            end(store, session, made.id, trial.number, rate(trial.point))
    if ended is None:
        store.finish_study(made.id, "seed", state)
        store.leave_study(made.id, "seed")
    return store.study(made.id)


def end(store: Store, session: SessionRecord, study_id: int, number: int, rate: float) -> int:
    """Have one trial run to its end. Returns its run."""
    trial = store.trials(study_id)[number - 1]
    ranks = trial.placement["ranks"]
    run = store.submit(session.id, "mnist", trial.params, trial.placement, measured=True, trial=(study_id, number))
    store.take_next(session.id)
    where = [[unit % 2] for unit in range(ranks)]
    store.set_run(run.id, rank_map=cases.rank_map(*where), machine=cases.machine(2))
    if rate == FAILED:
        error = {"rank": 0, "host": "laptop", "type": "MemoryError", "message": WHY, "traceback": ""}
        store.finish(run.id, "failed", error=error)
    elif rate == PRUNED:
        store.finish(run.id, "cancelled")
        store.prune_trial(study_id, number, {"why": HOPELESS, "rate": 40.0, "seconds": 2.0})
    else:
        told = rate * (1 + 0.02 * (trial.repeat - 1))
        store.finish(run.id, "completed", metrics={"images_per_second": told, "seconds": {"train": 1000 / told}})
    return run.id
