"""What a search has cost, and what it had found by then."""

from __future__ import annotations

from workshop.report.figures.points import NOTHING, Point
from workshop.study.tune.cards import Tried, search

TRIED = [
    Tried(Point("a", (100.0,)), 10.0),
    Tried(Point("b", state="pruned", reached=40.0), 13.0),
    Tried(Point("c", (90.0,)), 20.0),
    Tried(Point("d", state="failed", why="refused"), 21.0),
    Tried(Point("e", (150.0,)), 30.0),
]


def test_the_best_so_far_never_falls() -> None:
    line, trials, pruned, failed = search(TRIED, "images/s").data
    assert list(line.y) == [100.0, 100.0, 150.0, 150.0]
    assert list(line.x) == [10.0, 20.0, 30.0, 30.0]
    assert line.line.shape == "hv"
    assert list(trials.y) == [100.0, 90.0, 150.0]
    assert (list(pruned.x), list(pruned.y), list(pruned.customdata)) == ([13.0], [40.0], [1])
    assert pruned.marker.symbol == "x"
    assert (list(failed.customdata), list(failed.y)) == ([3], [0.0])
    assert "refused" in failed.hovertext[0]


def test_a_long_search_is_in_minutes() -> None:
    figure = search([*TRIED, Tried(Point("f", (1.0,)), 600.0)], "images/s", 55.0)
    assert figure.data[0].x[-1] == 10.0
    assert figure.layout.xaxis.title.text == "minutes of measuring"
    assert figure.data[-1].name == "naive start: 55"
    assert list(figure.data[-1].y) == [55.0, 55.0]


def test_nothing_yet() -> None:
    assert search([], "images/s").layout.annotations[0].text == NOTHING
    assert search(TRIED[1:2], "images/s").layout.annotations[0].text == NOTHING
