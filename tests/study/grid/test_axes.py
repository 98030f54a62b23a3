"""Axes of a grid: how they are read, what is refused, and the cells that they make."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import strategies as st

from workshop.core.errors import BadInput
from workshop.core.placement import Placement
from workshop.registry import workload
from workshop.study.grid import axes
from workshop.study.grid import axes as axes_of
from workshop.study.grid.axes import label, points, read_axes

MNIST = workload("mnist")
KMEANS = workload("kmeans")


def test_values_are_as_their_fields_have_them() -> None:
    given_ = {
        "ranks": ["1", 2],
        "threads": [None, "2"],
        "oversubscribe": ["yes", False],
        "exchange": ["mpi", "none"],
        "rate": ["1e-3", None],
        "env.OMP_PROC_BIND": [1, "close", None],
        "params.batch": [32],
    }
    assert read_axes(given_, MNIST) == {
        "ranks": [1, 2],
        "threads": [None, 2],
        "oversubscribe": [True, False],
        "exchange": ["mpi", "none"],
        "rate": [0.001, None],
        "env.OMP_PROC_BIND": ["1", "close", None],
        "batch": [32],
    }


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({}, "The grid is empty"),
        ({"ranks": []}, "ranks has no values, so the grid is empty"),
        ({"ranks": "12"}, "ranks should have a list of values"),
        ({"ranks": ["x"]}, "ranks is 'x': it should be a whole number."),
        ({"threads": [99999]}, "threads is 99999: it should be at most 1024."),
        ({"mpi": ["lam"]}, "mpi is 'lam': it should be openmpi, mpich, intelmpi or system."),
        ({"batch": [64, "64"]}, "batch has the value 64 twice"),
        ({"batch": [1], "params.batch": [2]}, "batch is varied twice"),
        ({"bach": [1]}, "Did you mean batch?"),
        ({"clusters": [1]}, "'clusters' is nothing that a study of mnist can vary; that is env.NAME, ranks, threads"),
        ({"env.A B": [1]}, "env. has to be followed by the name of a variable"),
    ],
)
def test_what_is_refused_in_one_sentence(wrong: dict[str, Any], sentence: str) -> None:
    with pytest.raises(BadInput) as refused:
        read_axes(wrong, MNIST)
    assert sentence in str(refused.value) and "\n" not in str(refused.value)


def test_words_of_a_command_line() -> None:
    assert axes.vary_words(
        ["ranks=1,2, 4", "map-by=core", "env.A-B=default,x", "env.KMP_AFFINITY=fine,compact|unset"]
    ) == {
        "ranks": ["1", "2", "4"],
        "map_by": ["core"],
        "env.A-B": [None, "x"],
        "env.KMP_AFFINITY": ["fine,compact", None],
    }
    for wrong, sentence in [
        (["ranks"], "--vary ranks should be like"),
        (["=1"], "--vary =1 should be like"),
        (["ranks="], "has no values"),
        (["ranks=1", "ranks=2"], "ranks is varied twice"),
        (["map-by=core", "map_by=numa"], "map_by is varied twice"),
    ]:
        with pytest.raises(BadInput, match=sentence):
            axes.vary_words(wrong)


def test_cells_have_params_and_placements_of_their_own() -> None:
    axes = read_axes({"ranks": [1, 2], "env.A": ["x", None], "steps": [5]}, MNIST)
    base = Placement(environment={"A": "base", "B": "b"}).as_json()
    found = [axes_of.cell(point, MNIST, {"batch": 64, "data": "digits"}, base, True) for point in points(axes)]
    assert [cell.label for cell in found] == [
        "1 rank, A=x, steps 5",
        "1 rank, no A, steps 5",
        "2 ranks, A=x, steps 5",
        "2 ranks, no A, steps 5",
    ]
    assert [cell.point for cell in found] == list(points(axes))
    assert [cell.params["batch"] for cell in found] == [64, 64, 32, 32], "all ranks together have the batch"
    assert [cell.params["steps"] for cell in found] == [5] * 4
    assert [cell.placement["environment"] for cell in found] == [{"A": "x", "B": "b"}, {"B": "b"}] * 2
    assert [Placement.parse(cell.placement).ranks for cell in found] == [1, 1, 2, 2]
    alone = [axes_of.cell(point, MNIST, {"batch": 64}, base, False) for point in points(axes)]
    assert {cell.params["batch"] for cell in alone} == {64}
    assert not any(cell.why for cell in [*found, *alone])


def test_what_can_not_be_says_why() -> None:
    axes = read_axes({"ranks": [2, 3]}, MNIST)
    two, three = [axes_of.cell(point, MNIST, {"batch": 64}, {}, True) for point in points(axes)]
    assert (two.why, three.why) == ("", "batch is 64, which 3 ranks can't divide among them.")
    assert three.point == {"ranks": 3}
    axes = read_axes({"clusters": [4, 100], "per_resource": [None, 2]}, KMEANS)
    found = [
        axes_of.cell(point, KMEANS, {"data": "blobs", "points": 50}, Placement().as_json(), False)
        for point in points(axes)
    ]
    whys = {cell.label: cell.why for cell in found}
    assert whys["clusters 4, dealt out"] == ""
    assert whys["clusters 4, 2 per resource"].startswith("per_resource is 2, but of which resource?")
    assert whys["clusters 100, dealt out"] == "kmeans: 100 clusters need as many points; there are 50."


sizes = st.lists(st.integers(1, 6), min_size=1, max_size=4)


def test_labels_tell_values_apart_in_few_words() -> None:
    point = {"threads": None, "map_by": "core", "bind_to": "none", "oversubscribe": True, "broadcast": False}
    point |= {"mpi": "mpich"}
    assert label(point) == "threads as cores, by core, unbound, cores shared, broadcast no, mpich"
    assert label({"cores_per_rank": 2, "params.ranks": 3, "resume": ""}) == "2 cores per rank, ranks 3, resume none"
    assert set(axes_of.PLACING) < set(axes_of.names(MNIST))
