"""Lines over one setting: medians, the best, failures at their place."""

from __future__ import annotations

import json
import math

import pytest

from workshop.report.figures.line import Ideal, line
from workshop.report.figures.marks import Point

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
