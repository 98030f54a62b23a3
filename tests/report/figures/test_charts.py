"""Charts hold the numbers that they were given."""

from __future__ import annotations

import json
import math

import pytest

from tests.report.analysis.cases import times
from workshop.report.analysis.balance import balance
from workshop.report.figures.bars import rank_times
from workshop.report.figures.line import curve, overlay
from workshop.store.records import Series
from workshop.workloads.kmeans.panels import palette_strip


def series(values: list[float], rank: int = 0, count: int | None = None) -> Series:
    steps = list(range(1, len(values) + 1))
    lows, highs = [value - 1 for value in values], [value + 1 for value in values]
    told = len(values) if count is None else count
    return Series("inertia", rank, told, steps, [float(step) for step in steps], lows, values, highs)


def test_a_curve_is_the_series() -> None:
    figure = curve([series([30.0, 20.0, 15.0])])
    (line,) = figure.data
    assert list(line.x) == [1, 2, 3]
    assert list(line.y) == [30.0, 20.0, 15.0]
    assert "15" in figure.layout.annotations[0].text


def test_a_thinned_curve_has_a_band_from_lowest_to_highest() -> None:
    low, high, line = curve([series([30.0, 20.0], count=900)]).data
    assert list(low.y) == [29.0, 19.0]
    assert list(high.y) == [31.0, 21.0]
    assert high.fill == "tonexty"
    assert list(line.y) == [30.0, 20.0]


def test_what_is_no_number_is_a_gap_that_browsers_can_read() -> None:
    text = curve([series([1.0, math.nan])]).to_json()
    assert json.loads(text)["data"][0]["y"] == [1.0, None]
    assert "NaN" not in text


def test_two_runs_in_one_plot() -> None:
    figure = overlay({"run 1": [series([3.0, 2.0])], "run 2": [series([4.0], 0), series([9.0], 1)], "run 3": []})
    assert [(line.name, list(line.y)) for line in figure.data] == [("run 1", [3.0, 2.0]), ("run 2", [4.0])]
    assert figure.data[0].line.dash != figure.data[1].line.dash


@pytest.mark.parametrize("told", [[], [series([])]])
def test_an_empty_curve_says_so(told: list[Series]) -> None:
    assert curve(told).layout.annotations[0].text == "Nothing told yet"


def test_bars_are_the_balance() -> None:
    told = balance(times([1.2, 0.8], [0.3, 0.7], [0.0, 0.1]), 2)
    bars = {bar.name: list(bar.x) for bar in rank_times(told).data}
    assert bars == {
        "compute": pytest.approx([1.2, 0.8]),
        "communicate": pytest.approx([0.3, 0.3]),
        "wait": pytest.approx([0.0, 0.5]),
    }


def test_a_palette_has_the_commonest_colour_first() -> None:
    figure = palette_strip(["#111111", "#222222", "#333333"], [10, 60, 30])
    assert [bar.marker.color for bar in figure.data] == ["#222222", "#333333", "#111111"]
    assert [bar.x[0] for bar in figure.data] == pytest.approx([0.6, 0.3, 0.1])
    assert [bar.x[0] for bar in palette_strip(["#111111", "#222222"]).data] == [0.5, 0.5]
