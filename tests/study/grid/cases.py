"""Grid studies in a store, as real ones leave them, with figures that a test makes up."""

from __future__ import annotations

from collections.abc import Callable

from workshop.store.records import SessionRecord, StudyRecord, Trial
from workshop.store.store import Store
from workshop.study import runner
from workshop.study.kinds import Sofar, kind, read
from workshop.study.trials import Plan, impossible

Became = float | str  # the work per second of a trial's run, or why it failed


def kept(store: Store, wanted: Plan) -> StudyRecord:
    return runner.begin(store, wanted)


def planned_runs(wanted: Plan) -> int:
    """How many runs a study takes if its best cells stay the best."""
    record = StudyRecord(1, wanted.kind, wanted.workload, wanted.description(), "running", "", 0.0, None, 0, 0, 0)
    trials = wanted.trials()
    return kind(wanted.kind).total(Sofar(record, trials, {})) - sum(map(impossible, trials))


def run_all(
    store: Store, session: SessionRecord, study: int, became: Callable[[Trial], Became], at_most: int = 1000
) -> StudyRecord:
    """End trials the way the runner does, until the study wants no more, or so many have ended."""
    store.take_study(study, "seed")
    for _ in range(at_most):
        trials, runs = read(store, study)
        record = store.study(study)
        waiting = runner.missing(trials, runs)
        if not waiting:
            waiting = kind(record.kind).more(Sofar(record, trials, runs))
            if not waiting:
                runner.finish(store, study, "seed")
                break
            assert store.add_trials(study, "seed", waiting)
        end(store, session, record, waiting[0], became(waiting[0]))
    store.leave_study(study, "seed")
    return store.study(study)


def end(store: Store, session: SessionRecord, study: StudyRecord, trial: Trial, became: Became) -> None:
    """Have one trial run to its end."""
    place = (study.id, trial.number)
    run = store.submit(session.id, study.workload, trial.params, trial.placement, measured=True, trial=place)
    store.take_next(session.id)
    if isinstance(became, str):
        error = {"rank": 0, "host": "laptop", "type": "MemoryError", "message": became, "traceback": ""}
        store.finish(run.id, "failed", error=error)
    else:
        store.finish(run.id, "completed", metrics={study.description["rate"]: became})
