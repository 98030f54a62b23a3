"""The best cells are measured again, and that comes to an end."""

from __future__ import annotations

import random

from tests.study.test_results import run
from workshop.store.records import RunRecord, Trial
from workshop.study.grid.kind import best_again
from workshop.study.results import results
from workshop.study.trials import Cell, interleave

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
