"""A store with a scaling study in it, as a real one leaves it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.report.analysis import cases
from workshop.core.placement import Placement
from workshop.registry import workload
from workshop.store.records import SessionRecord, StudyRecord
from workshop.store.store import Store
from workshop.study.scaling.plan import KIND, plan

PHASES = {
    1: {"compute": 9.6, "communicate": 0.0, "wait": 0.0, "input": 0.2},
    2: {"compute": 5.0, "communicate": 0.3, "wait": 0.2, "input": 0.1},
    4: {"compute": 4.1, "communicate": 0.9, "wait": 1.9, "input": 0.1},
}
RATES = {1: (5200.0, 5320.0, 5100.0), 2: (9900.0, 10100.0, 9650.0), 4: (8200.0, 9100.0, 7900.0)}


def study(
    store: Store,
    session: SessionRecord,
    rates: Mapping[int, tuple[float, ...]] | None = None,
    ended: int | None = None,
    failing: int = 0,
    weak: bool = False,
) -> StudyRecord:
    """A study of mnist on a machine of two cores, of which the first `ended` trials have ended (all, by default);
    those with `failing` ranks have failed."""
    rates = rates or RATES
    repeats = len(next(iter(rates.values())))
    wanted = plan(workload("mnist"), {}, sorted(rates), Placement(), weak=weak, repeats=repeats)
    made = store.create_study(KIND, "mnist", wanted.description(), wanted.trials())
    store.take_study(made.id, "seed")
    for trial in store.trials(made.id)[:ended]:
        end(store, session, made.id, trial.number, rates, failing)
    if ended is None:
        store.finish_study(made.id, "seed", "completed")
        store.leave_study(made.id, "seed")
    return store.study(made.id)


def end(
    store: Store,
    session: SessionRecord,
    study_id: int,
    number: int,
    rates: Mapping[int, tuple[float, ...]] = RATES,
    failing: int = 0,
) -> None:
    """Have one trial run to its end."""
    trial = store.trials(study_id)[number - 1]
    ranks = trial.placement["ranks"]
    run = store.submit(session.id, "mnist", trial.params, trial.placement, measured=True, trial=(study_id, number))
    store.take_next(session.id)
    where = [[unit] for unit in range(ranks)] if ranks <= 2 else [[0, 1]] * ranks
    store.set_run(run.id, rank_map=cases.rank_map(*where), machine=cases.machine(2))
    if ranks == failing:
        error = {"rank": 1, "host": "laptop", "type": "ValueError", "message": "no <b>luck</b>", "traceback": ""}
        store.finish(run.id, "failed", error=error)
    else:
        store.finish(run.id, "completed", metrics=metrics(ranks, rates[ranks][trial.repeat - 1]))


def metrics(ranks: int, rate: float) -> dict[str, Any]:
    """What a run of mnist tells, as far as a scaling study reads it."""
    phases = PHASES[ranks]
    return {
        "exchange": "mpi",
        "updates": 100,
        "images_per_second": rate,
        "measured_steps": 100,
        "phases": {name: [seconds] * ranks for name, seconds in phases.items()},
        "last": [100 // ranks] * ranks,
        "late_by": [0.001] * ranks,
    }
