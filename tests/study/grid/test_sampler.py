"""Optuna's choices: new cells only, and the same ones again after a crash."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from workshop.study.grid.kind import propose
from workshop.study.results import CellResult
from workshop.study.trials import TrialStatus

AXES = {"a": list(range(12)), "b": [1, 2, 4, 8, 16, 32], "c": ["x", "y", None]}
TPE = {"name": "tpe", "trials": 40, "seed": 1}


def speed(point: Mapping[str, Any]) -> float:
    return 200.0 - (point["a"] - 7) ** 2 - 3 * abs(point["b"] - 8) + (20 if point["c"] == "y" else 0)


def cell(point: Mapping[str, Any], *rates: float, status: TrialStatus = "completed") -> CellResult:
    return CellResult(str(point), point, {}, {}, rates, (), status)


def tried(sampler: Mapping[str, Any], number: int, able: Any = lambda point: True) -> list[CellResult]:
    cells: list[CellResult] = []
    for _ in range(number):
        point = propose(AXES, sampler, cells, able)
        assert point is not None
        cells.append(cell(point, speed(point)))
    return cells


@pytest.mark.parametrize("name", ["tpe", "random"])
def test_cells_are_new_and_the_same_again_with_a_seed(name: str) -> None:
    sampler = {**TPE, "name": name}
    cells = tried(sampler, 25)
    assert len({one.label for one in cells}) == 25
    for at in (0, 3, 12, 24):
        assert propose(AXES, sampler, cells[:at], lambda point: True) == cells[at].point, (
            "whoever goes on decides alike"
        )
    other = tried({**sampler, "seed": 2}, 5)
    assert [one.label for one in other] != [one.label for one in cells[:5]]


def test_what_can_not_be_is_not_tried() -> None:
    cells = tried(TPE, 12, lambda point: point["a"] >= 10)
    assert {one.point["a"] for one in cells} == {10, 11}
    assert propose(AXES, TPE, [], lambda point: False) is None


def test_failed_and_pruned_cells_are_told_as_such_and_do_not_come_again() -> None:
    cells: list[CellResult] = []
    for at in range(20):
        point = propose(AXES, TPE, cells, lambda point: True)
        assert point is not None and str(point) not in {one.label for one in cells}
        kinds = [
            cell(point, status="failed"),
            cell(point, status="pruned"),
            cell(point, speed(point), speed(point) + 1),
        ]
        cells.append(kinds[at % 3])
    foreign = cell({"z": 1}, 5.0)
    assert propose(AXES, TPE, [*cells, foreign], lambda point: True) is not None


def test_a_grid_that_is_used_up() -> None:
    axes = {"a": [1, 2], "b": [True, False]}
    cells: list[CellResult] = []
    while (point := propose(axes, TPE, cells, lambda point: True)) is not None:
        cells.append(cell(point, 1.0))
    assert len(cells) == 4
