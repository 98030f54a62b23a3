"""Charts hold the numbers that they were given."""

from __future__ import annotations

import json
import math
from itertools import pairwise

import pytest

from tests.report.analysis.cases import times
from workshop.report.analysis.balance import balance
from workshop.report.figures import theme
from workshop.report.figures.curves import curve, number, overlay
from workshop.report.figures.times import rank_times
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


def test_several_ranks_have_their_colours() -> None:
    lines = curve([series([1.0], 0), series([2.0], 1)]).data
    assert [line.line.color for line in lines] == [theme.rank_colour(0), theme.rank_colour(1)]
    assert [line.name for line in lines] == ["rank 0", "rank 1"]


def test_what_is_no_number_is_a_gap_that_browsers_can_read() -> None:
    text = curve([series([1.0, math.nan])]).to_json()
    assert json.loads(text)["data"][0]["y"] == [1.0, None]
    assert "NaN" not in text


def test_counts_have_whole_numbers_on_their_axis() -> None:
    assert curve([series([16.0, 16.0, 15.0])]).layout.yaxis.dtick == 1
    assert curve([series([16.5, 16.0])]).layout.yaxis.dtick is None
    assert curve([series([2e6, 1e6])]).layout.yaxis.tickformat == "~s"


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


def test_reading_input_has_its_part_where_it_was_told() -> None:
    told = balance(times([1.2, 0.8], [0.3, 0.3], [0.0, 0.1], [0.2, 0.5]), 2)
    bars = {bar.name: list(bar.x) for bar in rank_times(told).data}
    assert list(bars) == ["compute", "input", "communicate", "wait"]
    assert bars["input"] == pytest.approx([0.2, 0.5])


def test_phases_that_follow_each_other_differ_in_lightness() -> None:
    cycle = ["input", "compute", "wait", "communicate", "update", "input"]
    for one, other in pairwise(cycle):
        assert _contrast(theme.PHASES[one], theme.PHASES[other]) > 1.5


def test_short_times_are_in_milliseconds() -> None:
    figure = rank_times(balance(times([0.012, 0.008]), 2))
    assert list(figure.data[0].x) == pytest.approx([12.0, 8.0])
    assert figure.layout.xaxis.title.text == "milliseconds"


def test_a_palette_has_the_commonest_colour_first() -> None:
    figure = palette_strip(["#111111", "#222222", "#333333"], [10, 60, 30])
    assert [bar.marker.color for bar in figure.data] == ["#222222", "#333333", "#111111"]
    assert [bar.x[0] for bar in figure.data] == pytest.approx([0.6, 0.3, 0.1])
    assert [bar.x[0] for bar in palette_strip(["#111111", "#222222"]).data] == [0.5, 0.5]


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (0, "0"),
        (1493.2, "1493"),
        (54_321, "54.32 k"),
        (1_234_567, "1.235 M"),
        (-2e9, "-2 G"),
        (0.00012345, "0.0001234"),
    ],
)
def test_numbers_are_short(value: float, words: str) -> None:
    assert number(value) == words


def test_rank_colours_can_be_told_apart_and_written_on() -> None:
    assert len({theme.rank_colour(rank) for rank in range(8)}) == 8
    assert theme.rank_colour(8) == theme.rank_colour(0)
    for rank in range(8):
        colour = theme.rank_colour(rank)
        assert _contrast(colour, theme.text_on(colour)) > 4


def _contrast(one: str, other: str) -> float:
    """The contrast ratio of the Web Content Accessibility Guidelines 2.1."""

    def luminance(colour: str) -> float:
        parts = [int(colour[start : start + 2], 16) / 255 for start in (1, 3, 5)]
        red, green, blue = (part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    lighter, darker = sorted((luminance(one), luminance(other)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)
