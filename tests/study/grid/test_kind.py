"""Grid studies over their life: which trials they want after which, and what they report.

The best cells are measured again, and that comes to an end.
"""

from __future__ import annotations

import random
from typing import Any

import pytest

from tests.study.grid import cases
from tests.study.grid.cases import kept, run_all
from tests.study.test_results import run
from tests.web import seed as class_seed
from workshop.core.placement import Placement
from workshop.registry import workload
from workshop.store.records import RunRecord, SessionRecord, Trial
from workshop.store.store import Store
from workshop.study import runner
from workshop.study.grid.kind import KIND, GridReport, best_again
from workshop.study.grid.plan import plan
from workshop.study.kinds import Sofar, read, report, title
from workshop.study.results import results
from workshop.study.trials import Cell, interleave

BLOBS = {"data": "blobs", "points": 1000}


@pytest.fixture
def session(store: Store) -> SessionRecord:
    return class_seed.session(store)


def sofar(store: Store, study: int) -> Sofar:
    return Sofar(store.study(study), *read(store, study))


def found(store: Store, study: int) -> GridReport:
    told = report(store, store.study(study))
    assert isinstance(told, GridReport)
    return told


def grid(**asked: Any) -> Any:
    axes = asked.pop("axes", {"ranks": [1, 2], "clusters": [2, 4, 8]})
    return plan(workload("kmeans"), axes, BLOBS, Placement(), **asked)


def speed(trial: Trial) -> float | str:
    if trial.point["ranks"] == 2 and trial.point["clusters"] == 8:
        return "out of luck"
    return 1000.0 * trial.point["ranks"] - trial.point["clusters"] + trial.repeat


def test_a_whole_grid_and_then_the_best(store: Store, session: SessionRecord) -> None:
    wanted = grid(best={"cells": 2, "repeats": 3})
    study = kept(store, wanted)
    assert KIND.total(sofar(store, study.id)) == 6 + 4 == cases.planned_runs(wanted)
    half = run_all(store, session, study.id, speed, at_most=6)
    assert (half.state, half.done, half.failed) == ("interrupted", 6, 1)
    assert not runner.missing(*read(store, study.id))
    assert [trial.number for trial in runner.trials_to_run(store, study.id)] == [7, 8, 9, 10], "though none is missing"
    assert KIND.more(sofar(store, study.id)) == runner.trials_to_run(store, study.id), "asked again it says the same"
    assert next(runner.same_studies(store, wanted)) == store.study(study.id)
    done = run_all(store, session, study.id, speed)
    assert (done.state, done.trials, done.done, done.failed) == ("completed", 10, 10, 1)
    assert runner.trials_to_run(store, study.id) == [] and KIND.total(sofar(store, study.id)) == 10
    told = found(store, study.id)
    assert told.best is not None and told.best.label == "2 ranks, clusters 2"
    assert told.best.rates == (1999.0, 2000.0, 2001.0)
    assert [row.label for row in told.rows] == [cell.label for cell in wanted.cells], "in the grid's order"
    assert told.rows[5].status == "failed" and told.rows[5].why == "MemoryError: out of luck"
    assert told.verdict["verdict"].startswith("2 ranks, clusters 2: 2,000 points/s; can't tell whether 2 ranks,")
    assert "1 cell failed" in told.verdict["why"]
    assert told.command == "workshop run kmeans --data blobs --points 1000 --clusters 2 --ranks 2"
    assert title(done) == "kmeans over ranks × clusters"


def test_the_document(store: Store, session: SessionRecord) -> None:
    study = kept(store, grid(title="which?"))
    run_all(store, session, study.id, speed)
    told = found(store, study.id).as_json()
    assert (told["study"], told["kind"], told["workload"], told["state"]) == (study.id, "grid", "kmeans", "completed")
    assert told["axes"] == {"ranks": [1, 2], "clusters": [2, 4, 8]} and told["title"] == "which?"
    assert len(told["rows"]) == len(told["trials"]) == 6
    assert told["winner"]["point"] == {"ranks": 2, "clusters": 2}
    assert told["trials"][0]["point"] == {"ranks": 1, "clusters": 2}
    assert set(told["verdict"]) == {"verdict", "why", "next"}
    assert title(store.study(study.id)) == "which?"


@pytest.mark.parametrize("name", ["tpe", "random"])
def test_a_sampler_goes_on_where_it_was(store: Store, session: SessionRecord, name: str) -> None:
    asked = {"sampler": {"name": name, "trials": 7, "seed": 5}, "best": {"cells": 1, "repeats": 2}}
    axes = {"ranks": [1, 2, 4], "clusters": [1, 2, 4, 8, 16, 32], "features": [2, 5, 10]}
    once, twice = kept(store, grid(axes=axes, **asked)), kept(store, grid(axes=axes, **asked))
    assert KIND.total(sofar(store, once.id)) == 8
    whole = run_all(store, session, once.id, lambda trial: 100.0 * trial.point["ranks"] + trial.point["clusters"])
    for _ in range(20):  # one trial at a time, as if it had been killed after each
        run_all(store, session, twice.id, lambda trial: 100.0 * trial.point["ranks"] + trial.point["clusters"], 1)
    points = [trial.point for trial in store.trials(once.id)]
    assert whole.state == "completed" and len(points) == 8
    assert [trial.point for trial in store.trials(twice.id)] == points
    assert len({str(point) for point in points}) == 7, "new cells, and then the best once more"
    assert store.study(twice.id).state == "completed"


def test_a_grid_of_which_nothing_runs(store: Store, session: SessionRecord) -> None:
    study = kept(store, grid(best={"cells": 2, "repeats": 3}))
    done = run_all(store, session, study.id, lambda trial: "no luck")
    assert (done.state, done.trials, done.failed) == ("failed", 6, 6)
    told = found(store, study.id)
    assert told.best is None and told.command == "" and told.as_json()["winner"] is None
    assert told.verdict["verdict"] == "Nothing could be measured."


def test_what_can_not_be_is_not_tried_again(store: Store, session: SessionRecord) -> None:
    wanted = plan(workload("mnist"), {"ranks": [1, 3]}, {"batch": 64}, Placement())
    study = kept(store, wanted)
    run_all(store, session, study.id, lambda trial: "no luck")
    assert store.study(study.id).failed == 2
    assert runner.renew_failed(store, study.id) == 1
    assert [trial.label for trial in runner.missing(*read(store, study.id))] == ["1 rank"]


BEST = {"cells": 2, "repeats": 3}


def measured(trials: list[Trial], rates: dict[int, float]) -> tuple[list[Trial], dict[int, RunRecord]]:
    """Trials with runs of the same numbers at these rates."""
    ran = [Trial(**{**vars(trial), "run_id": trial.number}) for trial in trials]
    return ran, {number: run(number, rate) for number, rate in rates.items()}


def cells(number: int) -> list[Cell]:
    return [Cell(f"cell {at}", {"at": at}, {"ranks": 1}, {"at": at}) for at in range(1, number + 1)]


def test_the_best_are_repeated_interleaved_and_numbered_on() -> None:
    trials, runs = measured(interleave(cells(4), 1), {1: 5.0, 2: 9.0, 3: 1.0, 4: 8.0})
    found = best_again(trials, results(trials, runs, "speed"), BEST, 1)
    assert [(trial.number, trial.label, trial.repeat) for trial in found] == [
        (5, "cell 2", 2),
        (6, "cell 4", 2),
        (7, "cell 4", 3),
        (8, "cell 2", 3),
    ]
    assert (found[0].params, found[0].placement, found[0].point) == ({"at": 2}, {"ranks": 1}, {"at": 2})
    assert best_again(trials, results(trials, runs, "speed"), None, 1) == []
    done, runs = measured([*trials, *found], {number: 9.0 if number != 3 else 1.0 for number in range(1, 9)} | {1: 5.0})
    assert best_again(done, results(done, runs, "speed"), BEST, 1) == []


def test_a_cell_that_falls_behind_makes_room_for_the_next() -> None:
    trials, runs = measured(interleave(cells(3), 1), {1: 9.0, 2: 8.0, 3: 7.0})
    more = best_again(trials, results(trials, runs, "speed"), BEST, 1)
    rates = {trial.number: 1.0 if trial.label == "cell 1" else 8.0 for trial in more}
    trials, found = measured([*trials, *more], rates)
    runs |= found
    third = best_again(trials, results(trials, runs, "speed"), BEST, 1)
    assert [trial.label for trial in third] == ["cell 3", "cell 3"]


def test_it_ends_however_noisy_the_machine_is() -> None:
    draw = random.Random(0)
    trials, runs = measured(interleave(cells(30), 1), {number: draw.random() for number in range(1, 31)})
    while more := best_again(trials, results(trials, runs, "speed"), BEST, 1):
        trials, found = measured([*trials, *more], {trial.number: draw.random() / 100 for trial in more})
        runs |= found
    repeated = {trial.label for trial in trials if trial.repeat > 1}
    assert len(repeated) == 4 and len(trials) == 30 + 4 * 2, "twice as many as are asked for, at most"
