"""What a grid says of its cells: a winner only where the repeats allow one.

Repeats with seeds of their own, compared by what the runs came to instead of by their speed.
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.study.grid.cases import kept, run_all
from tests.web import seed as class_seed
from workshop.core.errors import BadInput
from workshop.core.placement import Placement
from workshop.registry import workload
from workshop.store.store import Store
from workshop.study.grid.kind import verdict
from workshop.study.grid.plan import plan
from workshop.study.kinds import read, report
from workshop.study.results import CellResult
from workshop.study.trials import Plan, TrialStatus


def cell(ranks: int, threads: int, *rates: float, status: TrialStatus | None = None, why: str = "") -> CellResult:
    point = {"ranks": ranks, "threads": threads}
    became: TrialStatus = status or ("completed" if rates else "waiting")
    label = f"{ranks} ranks, {threads} threads"
    return CellResult(label, point, {}, {}, rates, tuple(range(len(rates))), became, why)


def said(*cells: CellResult, finished: bool = True, command: str = "workshop run it") -> dict[str, str]:
    return verdict(cells, "images/s", finished, command)


def test_a_winner() -> None:
    told = said(
        cell(1, 1, 100.0, 101.0, 102.0),
        cell(1, 2, 110.0, 112.0, 111.0),
        cell(2, 1, 200.0, 204.0, 202.0),
        cell(2, 2, 90.0),
    )
    assert told["verdict"] == "2 ranks, 1 threads is the fastest: 202 images/s, 1.82× the next, 1 ranks, 2 threads."
    assert "reached 202 images/s (200 to 204 in 3 runs)." in told["why"]
    assert (
        "The slowest, 1 ranks, 1 threads, reached 101 images/s (100 to 102 in 3 runs): 2.00× between them."
        in told["why"]
    )
    assert "1 cell has less than 3 runs, so chance isn't known there." in told["why"]
    assert "threads 1.43× and ranks 1.27×" in told["why"]
    assert told["next"] == "Use it: workshop run it"
    going_on = said(cell(1, 1, 100.0), cell(2, 1, 200.0), finished=False)
    assert going_on["next"] == "Let the study go on."


def test_overlapping_repeats_have_no_sure_winner() -> None:
    told = said(cell(1, 1, 50.0, 51.0, 52.0), cell(1, 2, 100.0, 120.0, 110.0), cell(2, 1, 105.0, 115.0, 112.0))
    assert told["verdict"] == (
        "2 ranks, 1 threads: 112 images/s; can't tell whether 1 ranks, 2 threads can do as much."
    )
    assert "1 ranks, 2 threads reached 110 images/s (100 to 120 in 3 runs): the ranges overlap." in told["why"]
    assert told["next"].startswith("Use it: workshop run it - or, to tell them apart, run longer")
    assert told["next"].endswith("in a study's file: best: {cells: 2, repeats: 9}.")
    same = said(*(cell(1, threads, 100.0, 103.0, 101.0 + threads) for threads in (1, 2, 3)))
    assert "workshop run it" not in same["next"]
    assert same["verdict"] == "Can't tell which is the fastest: all 3 cells are within what repeats differ by."


def test_less_than_three_runs_can_not_tell() -> None:
    told = said(cell(1, 1, 100.0, 101.0), cell(1, 2, 200.0, 201.0, 202.0), cell(2, 1, 999.0))
    assert told["verdict"] == (
        "2 ranks, 1 threads reached the most, 999 images/s; can't tell whether it is the fastest, which takes 3 runs "
        "of each."
    )
    assert "2 cells have less than 3 runs, so chance isn't known there." in told["why"]
    assert told["next"].startswith("To tell them apart")


def test_what_is_no_speed_is_not_called_fast() -> None:
    told = verdict([cell(1, 1, 0.95, 0.94, 0.945), cell(1, 2, 0.9, 0.91, 0.905)], "held out accuracy", True)
    assert (
        told["verdict"]
        == "1 ranks, 1 threads is the best: 0.945 held out accuracy, 1.04× the next, 1 ranks, 2 threads."
    )
    assert "The worst, 1 ranks, 2 threads, reached 0.905 held out accuracy (0.9 to 0.91 in 3 runs)" in told["why"]


def test_cells_without_a_rate_are_told() -> None:
    told = said(
        cell(1, 1, 100.0, 100.0),
        cell(2, 1, 10.0, 11.0),
        cell(2, 2, status="failed", why="no room."),
        cell(1, 2, status="pruned", why="slow."),
    )
    assert "1 cell failed; 2 ranks, 2 threads: no room." in told["why"] and "1 cell ended early" in told["why"]
    nothing = said(cell(2, 2, status="failed", why="no room."), cell(2, 1, status="failed", why="no luck."))
    assert nothing["verdict"] == "Nothing could be measured."
    assert nothing["why"] == "2 cells failed; 2 ranks, 2 threads: no room."
    assert said(cell(1, 1), finished=False)["verdict"] == "Nothing was measured yet."
    assert said()["verdict"] == "Nothing was measured yet."
    one = said(cell(1, 1, 1234567.0), cell(1, 2), finished=False)
    assert one["verdict"] == "Only one cell was measured: 1 ranks, 1 threads, 1.23 M images/s."


def test_no_advice_that_would_be_refused() -> None:
    often = said(cell(1, 1, *[100.0, 120.0] * 30), cell(1, 2, *[101.0, 119.0] * 30))
    assert "best: {cells: 2, repeats: 100}" in often["next"]


METHODS = {"method": ["sgan", "supervised"]}


def study(axes: dict[str, Any] | None = None, **asked: Any) -> Plan:
    asked = {"compare": "held_out_accuracy", "seeds": True, **asked}
    return plan(workload("sgan"), axes or METHODS, {"data": "digits", "seed": 4}, Placement(), **asked)


def test_every_round_has_the_next_seed_and_cells_stay_cells(store: Store) -> None:
    wanted = study(repeats=2, best={"cells": 1, "repeats": 4})
    assert (wanted.settings["rate"], wanted.settings["unit"]) == ("held_out_accuracy", "held out accuracy")
    known = kept(store, wanted)
    run_all(store, class_seed.session(store), known.id, lambda trial: 0.9 + (trial.params["method"] == "sgan") / 50)
    trials, _ = read(store, known.id)
    assert [(trial.point["method"], trial.params["seed"]) for trial in trials] == [
        *(("sgan", 4), ("supervised", 4), ("supervised", 5), ("sgan", 5)),
        *(("sgan", 6), ("sgan", 7)),  # the best again
    ]
    told = report(store, store.study(known.id))
    assert [row["repeats"] for row in told.as_json()["rows"]] == [4, 2], "a cell is one whatever its seeds"
    assert told.verdict["verdict"].startswith("Method sgan reached the most, 0.92 held out accuracy; can't tell"), (
        told.verdict
    )


@pytest.mark.parametrize(
    ("supervised", "heading", "why"),
    [
        (
            [0.90, 0.93, 0.87, 0.92, 0.91],
            "Method sgan is better than method supervised with every one of 5 seeds: 0.93 against 0.91 held out "
            "accuracy, at the median.",
            "5 of 5 times, by 0.024 ± 0.006 on average (the mean's standard error). By chance all 5 would agree once "
            "in 16 times.",
        ),
        ([0.90, 0.96, 0.87, 0.92, 0.91], "Can't tell which is the best", "4 of 5 times, by 0.018 ± 0.0107 on average"),
    ],
)
def test_cells_are_compared_seed_by_seed(store: Store, supervised: list[float], heading: str, why: str) -> None:
    sgan = [0.93, 0.94, 0.91, 0.93, 0.94]  # ranges overlap: the seeds differ by more than the methods
    known = kept(store, study(repeats=5, best={"cells": 0}))
    of = {"sgan": sgan, "supervised": supervised}
    run_all(
        store, class_seed.session(store), known.id, lambda trial: of[trial.point["method"]][trial.params["seed"] - 4]
    )
    said = report(store, store.study(known.id)).verdict
    assert said["verdict"].startswith(heading)
    sure = heading.startswith("Method")
    assert said["next"].startswith("Use it: workshop run sgan --data digits" if sure else "To tell them apart")
    assert f"Seed by seed, method sgan did better than method supervised {why}" in said["why"]


@pytest.mark.parametrize(
    ("axes", "asked", "sentence"),
    [
        ({"seed": [1, 2]}, {}, "seed is varied already"),
        (None, {"compare": "the best"}, "compare is 'the best'; it should be the name of a metric"),
    ],
)
def test_what_can_not_be(axes: dict[str, Any] | None, asked: dict[str, Any], sentence: str) -> None:
    with pytest.raises(BadInput, match=sentence):
        study(axes, **asked)


def test_a_workload_without_a_seed(probe_workloads: None) -> None:
    with pytest.raises(BadInput, match="fill has no seed, so its repeats can't have one each; leave seeds out"):
        plan(workload("fill"), {"ranks": [1, 2]}, {}, Placement(), seeds=True)
