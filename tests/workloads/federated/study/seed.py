"""A store with a study of three ways in it, as a real one leaves it."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

from tests.report.analysis import cases
from workshop.core.placement import Placement
from workshop.registry import workload
from workshop.store.records import RunRecord, SessionRecord, StudyRecord
from workshop.store.store import Store
from workshop.study.trials import Plan
from workshop.workloads.federated.study.plan import KIND, ON, WAYS, names, plan

SETTINGS = {"data": "digits", "rounds": 4, "partition": "label", "model": "dense"}
# (held out, own) of federated, pooled and alone, for each seed.
CAME: Sequence[Mapping[str, tuple[float, float]]] = (
    {"federated": (0.92, 0.90), "centralised": (0.95, 0.94), "alone": (0.40, 0.96)},
    {"federated": (0.93, 0.91), "centralised": (0.94, 0.95), "alone": (0.44, 0.97)},
    {"federated": (0.90, 0.92), "centralised": (0.93, 0.94), "alone": (0.42, 0.95)},
    {"federated": (0.94, 0.93), "centralised": (0.95, 0.95), "alone": (0.38, 0.98)},
    {"federated": (0.91, 0.90), "centralised": (0.94, 0.93), "alone": (0.46, 0.96)},
)
ROUNDS = (0.25, 0.5, 0.75, 1.0)  # of what a way comes to, by round


def wanted(seeds: int = 5, **settings: Any) -> Plan:
    return plan(workload("federated"), {**SETTINGS, **settings}, Placement(ranks=2), seeds)


def study(
    store: Store,
    session: SessionRecord,
    ended: int | None = None,
    came: Sequence[Mapping[str, tuple[float, float]]] = CAME,
    failing: Sequence[int] = (),
    **settings: Any,
) -> StudyRecord:
    """A study with a seed for each of `came`, the first `ended` of which have come to their end (all, by default);
    each first run of the seeds with a number (from 1) in `failing` has failed."""
    asked = wanted(len(came), **settings)
    made = store.create_study(KIND, "federated", asked.description(), asked.trials())
    store.take_study(made.id, "seed")
    for number in range(1, len(WAYS) * (len(came) if ended is None else ended) + 1):
        end(store, session, made.id, number, came, failing)
    if ended is None:
        store.finish_study(made.id, "seed", "completed")
        store.leave_study(made.id, "seed")
    return store.study(made.id)


def begin(store: Store, session: SessionRecord, study_id: int, number: int, rounds: int = 0) -> RunRecord:
    """Have one trial begin, and its rank 0 tell some rounds."""
    trial = store.trials(study_id)[number - 1]
    run = store.submit(session.id, "federated", trial.params, trial.placement, trial=(study_id, number))
    taken = store.take_next(session.id)
    assert taken is not None and taken.id == run.id
    store.set_run(run.id, rank_map=cases.rank_map([0], [1]), machine=cases.machine(2))
    tell(store, run.id, 1, rounds)
    return store.run(run.id)


def tell(store: Store, run_id: int, first: int, last: int) -> None:
    """What rank 0 tells of some rounds of a run's way: 0.1 more in each round."""
    run_way = store.run(run_id).params["way"]
    told = [
        (time.time(), name, number, (0.5 if way == "federated" else 0.2 if way == "alone" else 0.6) + 0.1 * number)
        for number in range(first, last + 1)
        for (way, _), name in names("accuracy", run_way).items()
    ]
    if told:
        store.add_events(run_id, 0, first, told)
    store.set_run(run_id, progress=(float(last), 4.0))


def end(
    store: Store,
    session: SessionRecord,
    study_id: int,
    number: int,
    came: Sequence[Mapping[str, tuple[float, float]]] = CAME,
    failing: Sequence[int] = (),
) -> int:
    """Have one trial run to its end. Returns its run."""
    run = begin(store, session, study_id, number)
    seed = run.params["seed"]
    if seed + 1 in failing and (number - 1) % len(WAYS) == 0:
        error = {"rank": 0, "host": "laptop", "type": "MemoryError", "message": "<b>out</b> of it", "traceback": ""}
        store.finish(run.id, "failed", error=error)
    else:
        store.finish(run.id, "completed", metrics=metrics(came[seed], run.params["way"]))
    return run.id


def metrics(came: Mapping[str, tuple[float, float]], run_way: str) -> dict[str, Any]:
    """What a run tells, as far as the study reads it."""
    by_way: dict[str, dict[str, Any]] = {}
    ways = WAYS if run_way == "all" else (run_way,)
    for way in ways:
        by_way[way] = {"images_read": 4000}
        for on, score in zip(ON, came[way], strict=True):
            by_way[way] |= {f"{on}_score": score, on: [round(score * part, 6) for part in ROUNDS]}
    return {"measure": "accuracy", "ways": list(ways), "by_way": by_way, "held_out_accuracy": came[ways[0]][0]}
