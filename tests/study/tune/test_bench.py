"""The bench of the tuner: a real one on a few cells, and what its figures mean."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.study.conftest import own_lock
from tests.study.tune import cases
from workshop.core import topology
from workshop.core.errors import WorkshopError
from workshop.store.records import RunRecord
from workshop.study.trials import Cell
from workshop.study.tune import bench
from workshop.study.tune.study import key, label

__all__ = ["own_lock"]


@pytest.mark.exhaustive
@pytest.mark.real
@pytest.mark.timeout(600)
def test_a_few_cells(workshop_home: Path) -> None:
    turns: list[tuple[int, int]] = []
    said: list[str] = []
    document = bench.run(**bench.QUICK, progress=lambda *turn: turns.append(turn), say=said.append)
    rows = {row["name"]: row for row in document["rows"]}
    assert set(document["ratios"]) == {"tuned_vs_best", "tuned_vs_naive", "cost_vs_grid"}
    assert all(value > 0 for value in document["ratios"].values())
    assert set(document["intervals"]) == {"tuned_vs_best", "tuned_vs_naive"}
    assert rows["cells"]["value"] == len(document["grid"]) == rows["grid_cost"]["runs"] >= 3
    best = max(cell["rate"] for cell in document["grid"])
    assert document["grid"][0]["rate"] == rows["grid_best"]["first"] == best
    cores = topology.allowed_cores(topology.machine())
    assert rows["naive"]["placement"].startswith(f"1 rank x {cores} thread")
    assert rows["tuned_0"]["placement"] in {cell["cell"] for cell in document["grid"]}
    assert rows["tuner_0_cost"]["value"] / rows["grid_cost"]["value"] == document["ratios"]["cost_vs_grid"]
    assert 2 <= rows["tuner_0_cost"]["runs"] == rows["tuned_0"]["trials"]
    assert len(said) == 1 and said[0].startswith(f"{rows['cells']['value']} cells once")
    assert turns[-1][0] == turns[-1][1] and [done for done, _ in turns] == sorted(done for done, _ in turns)
    assert not (workshop_home / "workshop.db").exists(), "the bench is nobody's history"


def test_ratios_are_those_of_the_seed_that_did_worst() -> None:
    asked = cases.asked()
    naive, best, other = asked.naive, asked.begin[0], asked.begin[2]
    found = {0: bench.SearchResult(best, 20.0, 8), 1: bench.SearchResult(other, 24.0, 9, 2)}
    results = {key(naive): [50.0] * 3, key(best): [100.0, 110.0, 90.0], key(other): [98.0, 99.0, 99.0]}
    rates = {label(naive): 50.0, label(best): 130.0, label(other): 99.0, "2 ranks, broken": None}
    document = bench.document({}, asked, bench.SearchResult(best, 100.0, 4), rates, found, results)
    # Of pairs of the same round: 0.98, 0.9 and 1.1.
    assert document["ratios"] == pytest.approx({"tuned_vs_best": 0.98, "tuned_vs_naive": 1.98, "cost_vs_grid": 0.24})
    assert document["intervals"]["tuned_vs_best"] == pytest.approx([0.9, 1.1])
    rows = {row["name"]: row for row in document["rows"]}
    assert rows["grid_best"]["value"] == 100.0, "measured anew, not the lucky figure of the grid"
    assert "same cell" in rows["tuned_vs_best_0"]["note"] and "note" not in rows["tuned_vs_best_1"]
    assert rows["cells"]["unit"] == "in the grid, 1 of which failed"
    assert [cell["rate"] for cell in document["grid"]] == [130.0, 99.0, 50.0, None]


def test_cells_that_fail_are_part_of_the_grid_and_no_best() -> None:
    """The tuner's competitor pays for what fails, too."""

    class Broken(bench.BenchRuns):
        def __init__(self) -> None:
            self.tune_study = cases.asked()  # no store and no session: `ended` is all that would use them

        def ended(self, cell: Cell) -> RunRecord:
            (trial,) = bench.interleave([cell], 1)
            return cases.ended(trial, "RankDied" if cell.placement["ranks"] > 1 else 40.0)[1]

    runs = Broken()
    rates: dict[str, float | None] = {}
    best = bench.exhaustive(runs, runs.tune_study.begin, lambda: None, rates)
    assert best.point == runs.tune_study.naive and best.seconds == 30.0
    assert sorted(rates.values(), key=str) == [40.0, None, None]
    with pytest.raises(WorkshopError, match="did not work: it did"):
        runs.turn(runs.tune_study.begin[0])()
