"""A store with a tuning study in it, as a real one leaves it."""

from __future__ import annotations

from tests.study.tune import cases
from workshop.store.records import SessionRecord, StudyRecord
from workshop.store.store import Store
from workshop.study.tune.study import NAME, TuneStudy


def study(
    store: Store, session: SessionRecord, asked: TuneStudy, speed: cases.Speed, most: int | None = None
) -> StudyRecord:
    """A study of mnist whose trials have ended, all or the first `most` of them."""
    made = store.create_study(NAME, "mnist", asked.description(), [])
    store.take_study(made.id, "seed")
    trials, runs = cases.searched(asked, speed)
    for trial in trials[:most]:
        plain = cases.untried(trial)
        store.add_trials(made.id, "seed", [plain])
        run = store.submit(
            session.id, "mnist", trial.params, trial.placement, measured=True, trial=(made.id, trial.number)
        )
        store.take_next(session.id)
        told = runs[trial.number]
        store.finish(run.id, told.status, metrics=told.metrics, error=told.error)
    if most is None:
        store.finish_study(made.id, "seed", "completed")
    store.leave_study(made.id, "seed")
    return store.study(made.id)
