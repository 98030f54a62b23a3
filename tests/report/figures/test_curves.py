"""Held-out values beside training's, and both by step and by time."""

from __future__ import annotations

from tests.report.figures.test_charts import series
from workshop.report.figures.curves import by_time, curve, overlay
from workshop.store.records import Series


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


def test_each_rank_has_its_held_out_points_where_they_are_not_averaged() -> None:
    figure = curve([named("loss", [2.0])], [named("held-out loss", [2.0], 0), named("held-out loss", [3.0], 1)])
    assert [trace.name for trace in figure.data[1:]] == ["rank 0, held out", "rank 1, held out"]
    assert len({trace.marker.color for trace in figure.data[1:]}) == 2


def test_held_out_values_alone_are_drawn() -> None:
    assert list(curve([], [named("held-out loss", [2.0])]).data[0].y) == [2.0]


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


def test_what_has_a_meaningful_zero_is_drawn_from_zero() -> None:
    for name in ("spread", "total images/s"):
        assert curve([named(name, [0.0, 0.0])]).layout.yaxis.rangemode == "tozero"
    assert curve([named("loss", [5.0])]).layout.yaxis.rangemode is None


def test_two_runs_with_held_out_values_keep_their_colours() -> None:
    both = {"run 1": [named("loss", [3.0])], "run 2": [named("loss", [4.0])]}
    held_out = {"run 1": [], "run 2": [named("held-out loss", [4.5])]}
    figure = overlay(both, held_out, {"run 1": 0.0, "run 2": 0.5})
    assert [trace.name for trace in figure.data] == ["run 1", "run 2", "run 2, held out"]
    assert figure.data[1].line.color == figure.data[2].marker.color != figure.data[0].line.color
    assert [list(trace.x) for trace in by_time(figure).data] == [[1.0], [0.5], [0.5]]
