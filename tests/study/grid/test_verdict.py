"""What a grid says of its cells: a winner only where the repeats allow one."""

from __future__ import annotations

from workshop.study.grid.kind import verdict
from workshop.study.results import CellResult
from workshop.study.trials import TrialStatus


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
    assert nothing["why"] == "All 2 cells failed. 2 ranks, 2 threads: no room."
    assert said(cell(1, 1), finished=False)["verdict"] == "Nothing was measured yet."
    assert said()["verdict"] == "Nothing was measured yet."
    one = said(cell(1, 1, 1234567.0), cell(1, 2), finished=False)
    assert one["verdict"] == "Only one cell was measured: 1 ranks, 1 threads, 1.23 M images/s."


def test_no_advice_that_would_be_refused() -> None:
    often = said(cell(1, 1, *[100.0, 120.0] * 30), cell(1, 2, *[101.0, 119.0] * 30))
    assert "best: {cells: 2, repeats: 100}" in often["next"]
