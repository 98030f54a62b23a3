"""Lines over one setting: medians, the best, failures at their place.

Held-out values beside training's, and both by step and by time.
"""

from __future__ import annotations

import json
import math

import pytest

from tests.report.figures.test_charts import series
from workshop.report.figures.line import Ideal, by_time, curve, line, overlay
from workshop.report.figures.marks import Point
from workshop.store.records import Series

POINTS = [Point("1", (100.0, 104.0, 90.0)), Point("2", (160.0,)), Point("3", state="failed"), Point("4", (120.0,))]


def test_medians_and_the_best() -> None:
    figure = line([1, 2, 3, 4], {"": POINTS}, "threads", "images/s")
    medians, best = figure.data
    assert list(medians.x) == [1, 2, 4]
    assert list(medians.y) == [100.0, 160.0, 120.0]
    assert list(medians.customdata) == [0, 1, 3], "whoever clicks at a mark means the point at that place"
    assert (list(best.x), list(best.y), list(best.customdata)) == ([2], [160.0], [1])
    assert "160" in best.name
    assert [(note.x, note.text) for note in figure.layout.annotations] == [(3, "failed")]


@pytest.mark.parametrize(("ideal", "values"), [("faster", [10.0, 20.0, 40.0]), ("shorter", [10.0, 5.0, 2.5])])
def test_the_ideal_goes_on_as_the_first_line_began(ideal: Ideal, values: list[float]) -> None:
    points = [Point("1", (10.0,)), Point("2", (9.0,)), Point("4", (8.0,))]
    drawn = line([1, 2, 4], {"": points}, "ranks", "s", ideal=ideal, mark=False).data[0]
    assert drawn.name == "ideal"
    assert list(drawn.y) == pytest.approx(values)


def test_far_apart_settings_are_in_powers_and_their_notes_with_them() -> None:
    points = [Point("1", (10.0,)), Point("8", state="pruned"), Point("64", (300.0,))]
    figure = line([1, 8, 64], {"": points}, "ranks", "images/s", ideal="faster")
    assert (figure.layout.xaxis.type, figure.layout.yaxis.type) == ("log", "log")
    assert figure.layout.annotations[0].x == pytest.approx(math.log10(8))


def test_settings_are_words_and_no_markup() -> None:
    figure = line(["<b>x</b>", "y"], {"": [Point("<b>x</b>", (1.0,)), Point("y", (2.0,))]}, "a", "images/s")
    told = json.dumps(figure.to_plotly_json(), default=list)
    assert "<b>x" not in told and "&lt;b&gt;x" in told


def named(name: str, values: list[float], rank: int = 0) -> Series:
    one = series(values, rank)
    return Series(name, rank, one.count, one.steps, one.times, one.lows, one.means, one.highs)


def test_held_out_values_are_points_and_both_newest_values_are_named() -> None:
    figure = curve([named("accuracy", [0.5, 0.9912])], [named("held-out accuracy", [0.9723])])
    line, points = figure.data
    assert (line.mode, points.mode) == ("lines+markers", "markers")
    assert (line.name, points.name) == ("training <b>99.1 %</b>", "held out <b>97.2 %</b>")
    assert figure.layout.yaxis.tickformat == ".0%"
    assert not figure.layout.annotations


def test_a_figure_by_time_has_seconds_since_the_first_event() -> None:
    thinned = series([3.0, 2.0], count=9)
    by_step = curve([thinned], [named("held-out inertia", [2.5])], began=0.5)
    turned = by_time(by_step)
    assert [list(trace.x) for trace in turned.data] == [[0.5, 1.5]] * 3 + [[0.5]]
    assert turned.layout.xaxis.title.text == "seconds since its first event"
    assert list(by_step.data[2].x) == [1, 2], "the figure itself stays"
    plain = curve([series([3.0])])
    assert by_time(plain) is plain


def test_the_axis_of_a_run_that_goes_on_begins_where_it_does() -> None:
    def told(*steps: int) -> Series:
        values = [1.0] * len(steps)
        return Series("loss", 0, len(steps), list(steps), [float(step) for step in steps], values, values, values)

    def axis(*shown: Series) -> str:
        return curve(shown[:1], shown[1:], began=0.0).layout.xaxis.rangemode

    assert axis(told(1, 2, 3), told(32)) == axis(told(0, 1, 2)) == axis(told(32)) == axis(told(32, 64)) == "tozero"
    assert axis(told(65, 66, 67), told(96)) == axis(told(660, 680)) == "normal"
    resumed = curve([told(65, 66, 67)], began=60.0)
    assert by_time(resumed).layout.xaxis.rangemode == "tozero"
    assert overlay({"run 1": [told(1, 2)], "run 2": [told(65, 66)]}).layout.xaxis.rangemode == "tozero"
