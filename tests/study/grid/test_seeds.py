"""Repeats with seeds of their own, compared by what the runs came to instead of by their speed."""

from __future__ import annotations

from typing import Any

import pytest

from tests.study.grid.cases import kept, run_all
from tests.web import seed as class_seed
from workshop.core.errors import BadInput
from workshop.core.placement import Placement
from workshop.registry import workload
from workshop.store.store import Store
from workshop.study.grid.plan import plan
from workshop.study.kinds import read, report
from workshop.study.trials import Plan

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
