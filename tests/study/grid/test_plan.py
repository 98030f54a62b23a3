"""Planning grids: which trials, in which order, and what is refused beforehand."""

from __future__ import annotations

from typing import Any

import pytest

from tests.study.grid import cases
from workshop.core.errors import BadInput, WorkshopError
from workshop.core.placement import Placement
from workshop.registry import workload
from workshop.study.grid.plan import check_placements, plan, some_cell
from workshop.study.trials import Plan, impossible

KMEANS, MNIST = workload("kmeans"), workload("mnist")
BLOBS = {"data": "blobs", "points": 1000}


def kmeans(axes: dict[str, Any] | None = None, **asked_for: Any) -> Plan:
    axes = axes or {"ranks": [1, 2], "clusters": [4, 8]}
    return plan(KMEANS, axes, BLOBS, Placement(map_by="core"), **asked_for)


def test_a_description_says_all_that_was_asked_for() -> None:
    made = kmeans(repeats=2, best={"cells": 1}, title=" which? ")
    told = made.description()
    assert told["axes"] == {"ranks": [1, 2], "clusters": [4, 8]}
    assert (told["rate"], told["unit"], told["repeats"], told["title"]) == (
        "points_per_second",
        "points/s",
        2,
        "which?",
    )
    assert told["best"] == {"cells": 1, "repeats": 3}
    assert (told["sampler"], told["shared"]) == (None, False)
    assert told["params"]["points"] == 1000 and "clusters" not in told["params"]
    assert told["placement"]["map_by"] == "core" and "ranks" not in told["placement"]
    assert kmeans(repeats=2, best={"cells": 1}, title="which?").description() == told
    assert kmeans(best={"cells": 0}).description()["best"] is None


def test_rounds_hold_every_cell_once_and_begin_with_another() -> None:
    made = kmeans(repeats=3, best={"cells": 2, "repeats": 5})
    trials = made.trials()
    assert [trial.number for trial in trials] == list(range(1, 13))
    rounds = [trials[begin : begin + 4] for begin in (0, 4, 8)]
    assert [{trial.repeat for trial in one} for one in rounds] == [{1}, {2}, {3}]
    assert all(len({trial.label for trial in one}) == 4 for one in rounds)
    assert len({one[0].label for one in rounds}) == 3
    assert cases.planned_runs(made) == 12 + 2 * 2


def test_a_cell_that_can_not_be_is_there_once_and_has_failed() -> None:
    made = plan(MNIST, {"ranks": [1, 2, 3]}, {"batch": 64}, Placement(), repeats=2)
    assert made.settings["shared"] and made.description()["params"]["scale"] == "none", "as in a scaling study"
    trials = made.trials()
    assert [(trial.label, trial.repeat, impossible(trial)) for trial in trials] == [
        ("1 rank", 1, False),
        ("2 ranks", 1, False),
        ("3 ranks", 1, True),
        ("2 ranks", 2, False),
        ("1 rank", 2, False),
    ]
    assert trials[2].error == {"type": "Impossible", "message": "batch is 64, which 3 ranks can't divide among them."}
    assert cases.planned_runs(made) == 4
    same = plan(MNIST, {"ranks": [1, 2, 3]}, {"batch": 64}, Placement(), shared=False)
    assert not any(cell.why for cell in same.cells) and same.params["scale"] == "linear"
    one = plan(MNIST, {"exchange": ["mpi", "none"]}, {"batch": 64}, Placement(ranks=2))
    assert not one.settings["shared"] and {cell.params["batch"] for cell in one.cells} == {64}, "ranks don't vary"


@pytest.mark.parametrize(
    ("axes", "more", "sentence"),
    [
        ({}, {}, "The grid is empty"),
        ({"ranks": [3, 5]}, {}, "None of the 2 cells can be run: 3 ranks: batch is 64, which 3 ranks can't divide"),
        ({"ranks": [3]}, {}, "The only cell can't be run: 3 ranks: batch is 64"),
        ({"ranks": [1]}, {"params": {"nonsense": 1}}, "nonsense is not one of its settings"),
        ({"ranks": [1]}, {"params": {"epochs": 0}}, "epochs is 0: it should be at least 1"),
        ({"ranks": [1]}, {"repeats": 0}, "repeats is 0: it should be a whole number from 1 to 100."),
        ({"ranks": [1]}, {"repeats": True}, "repeats is True"),
        ({"ranks": [1]}, {"sampler": {"name": "magic"}}, "sampler is 'magic': it should be tpe or random."),
        ({"ranks": [1]}, {"sampler": {"trials": 0}}, "trials of the sampler is 0"),
        ({"ranks": [1]}, {"sampler": {"seed": "x"}}, "seed is x"),
        ({"ranks": [1]}, {"sampler": {"size": 3}}, "sampler has no setting 'size'; it has name, trials and seed."),
        ({"ranks": [1]}, {"best": {"cells": 99}}, "cells of best is 99"),
        ({"ranks": [1]}, {"best": {"of": 2}}, "best has no setting 'of'; it has cells and repeats."),
    ],
)
def test_what_is_refused_in_one_sentence(axes: dict[str, Any], more: dict[str, Any], sentence: str) -> None:
    params = {"batch": 64, **more.get("params", {})}
    with pytest.raises(BadInput) as refused:
        plan(MNIST, axes, params, Placement(), **{name: value for name, value in more.items() if name != "params"})
    assert sentence in str(refused.value) and "\n" not in str(refused.value)


def test_a_workload_that_tells_no_rate() -> None:
    with pytest.raises(BadInput, match="allreduce doesn't tell how fast it is"):
        plan(workload("allreduce"), {"ranks": [1, 2]}, {}, Placement())


def test_a_million_cells() -> None:
    axes = {"clusters": list(range(1, 1001)), "features": list(range(1, 1001))}
    with pytest.raises(BadInput) as refused:
        kmeans(axes, seconds=30.0)
    said = str(refused.value)
    assert said.startswith("The grid has 1,000,000 cells (1000 × 1000), which would take about 347 days at 30 s a run;")
    assert "sampler: {name: tpe, trials: 50}" in said
    chosen = kmeans(axes, sampler={"name": "tpe", "trials": 12}, best={"cells": 2, "repeats": 3})
    assert chosen.trials() == [] and cases.planned_runs(chosen) == 12 + 4
    assert some_cell(chosen, KMEANS).label == "clusters 1, features 1"


def test_placements_are_asked_about_before_anything_starts() -> None:
    seen: list[int] = []

    def check(placement: Placement) -> None:
        seen.append(placement.ranks)
        if placement.ranks > 1:
            raise BadInput("Open MPI refuses this placement, in its own words:\nThere are not enough slots.")

    made = check_placements(kmeans(), check)
    assert seen == [1, 2], "each placement once"
    whys = [cell.why for cell in made.cells]
    refused = "Open MPI refuses this placement, in its own words: There are not enough slots."
    assert whys == ["", "", refused, refused]
    assert [impossible(trial) for trial in made.trials()] == [False, False, True, True]
    with pytest.raises(BadInput, match=r"None of the 2 cells can be run: 2 ranks: Open MPI refuses"):
        check_placements(kmeans({"ranks": [2, 4]}), check)
    with pytest.raises(BadInput, match=r"^Open MPI refuses this placement, in its own words: There are not enough"):
        check_placements(kmeans({"clusters": [4, 8]}, sampler={"trials": 2}), check)
    assert not check_placements(kmeans(sampler={"trials": 2}), check).cells, "it may find those that can be"

    def silent(placement: Placement) -> None:
        raise WorkshopError("has not answered")

    assert not any(cell.why for cell in check_placements(kmeans(), silent).cells), "the run itself will tell"
    seen.clear()
    check_placements(kmeans({"ranks": list(range(1, 17))}), check, seconds=0.0)
    assert seen == [], "it takes no longer than it may"


def test_params_that_fit_together_only_here_and_there() -> None:
    made = plan(KMEANS, {"points": [10, 100], "clusters": [50, 5]}, {"data": "blobs"}, Placement())
    assert [bool(cell.why) for cell in made.cells] == [True, False, False, False]
    with pytest.raises(BadInput, match="50 clusters need as many points; there are 10"):
        plan(KMEANS, {"points": [10]}, {"data": "blobs", "clusters": 50}, Placement())
