"""Scaling figures hold the medians, the ideal, and what others have published."""

from __future__ import annotations

import json

import pytest

from tests.study.scaling.test_efficiency import ONE, of
from workshop.report.figures import theme
from workshop.study.references import references
from workshop.study.scaling import figures as scaling
from workshop.study.scaling.efficiency import Measurement, Row, rows

ROWS = rows([*ONE, *of(2, 180.0, 193.0, 195.0), *of(4, 300.0, 310.0, 305.0)])
FAILED = rows([*ONE, Measurement(2, 1, 9, failed="ValueError: no luck")])
NOTHING = rows([Measurement(1, 1), Measurement(2, 1)])


def traces(figure: object) -> dict[str, object]:
    return {trace.name: trace for trace in figure.data}


def test_throughput() -> None:
    found = traces(scaling.throughput(ROWS, "images/s"))
    measured, ideal = found["measured here"], found["ideal"]
    assert (list(measured.x), list(measured.y)) == ([1, 2, 4], [100.0, 193.0, 305.0])
    assert list(ideal.y) == [100.0, 200.0, 400.0]
    assert list(measured.error_y.array) == [3.0, 2.0, 5.0]
    assert list(measured.error_y.arrayminus) == [2.0, 13.0, 5.0]
    assert "193" in measured.text[1]
    assert scaling.throughput(ROWS, "images/s").layout.yaxis.title.text == "images/s"


def test_speed_up_with_published_figures() -> None:
    figure = scaling.speed_up(ROWS, references(4))
    found = traces(figure)
    assert list(found["measured here"].y) == pytest.approx([1.0, 1.93, 3.05])
    assert list(found["ideal"].y) == [1.0, 2.0, 4.0]
    theirs = [trace for trace in figure.data if trace.mode == "markers"]
    assert [(trace.x[0], round(trace.y[0], 2)) for trace in theirs] == [(2, 1.89), (2, 1.84)]
    assert len({trace.marker.symbol for trace in theirs}) == 2
    assert [trace.name for trace in theirs] == ["ResNet-50, 2 GPUs (Jain 2022)", "U-Net, 2 nodes (Sobhee 2021)"]
    assert list(figure.layout.xaxis.tickvals) == [1, 2, 4]


def test_speed_up_from_more_than_one_rank() -> None:
    figure = scaling.speed_up(rows([*of(2, 100.0), *of(4, 190.0)]))
    assert figure.layout.yaxis.title.text == "speed-up over 2 ranks"
    assert list(traces(figure)["ideal"].y) == [1.0, 2.0]


def test_efficiency() -> None:
    figure = scaling.efficiency(ROWS)
    (bars,) = figure.data
    assert list(bars.x) == ["1", "2", "4"]
    assert list(bars.y) == pytest.approx([1.0, 0.965, 0.7625])
    assert figure.layout.yaxis.range[1] > 1.0
    assert [shape.y0 for shape in figure.layout.shapes] == [1]


def test_shares_are_of_all_time() -> None:
    figure = scaling.shares(ROWS)
    assert [bar.name for bar in figure.data] == ["compute", "communicate", "wait", "input"]
    assert [sum(bar.x[row] for bar in figure.data) for row in range(3)] == pytest.approx([1.0] * 3)
    assert figure.data[0].marker.color == theme.PHASES["compute"]
    assert list(figure.data[0].y) == ["1 rank", "2 ranks", "4 ranks"]


def test_what_failed_is_said() -> None:
    figure = scaling.speed_up(FAILED)
    assert [(note.x, note.text) for note in figure.layout.annotations] == [(2, "failed")]
    assert list(traces(figure)["measured here"].x) == [1]


@pytest.mark.parametrize("found", [NOTHING, []])
def test_nothing_yet(found: list[Row]) -> None:
    for figure in (scaling.throughput(found, "x"), scaling.speed_up(found), scaling.efficiency(found)):
        assert figure.layout.annotations[0].text == scaling.NOTHING
    assert "No run has told" in scaling.shares(found).layout.annotations[0].text


def test_many_ranks_have_logarithmic_axes() -> None:
    wide = rows([one for ranks in (1, 4, 16, 64) for one in of(ranks, 100.0 * ranks)])
    figure = scaling.speed_up(wide)
    assert (figure.layout.xaxis.type, figure.layout.yaxis.type) == ("log", "log")
    assert scaling.speed_up(ROWS).layout.xaxis.type is None


def test_browsers_can_read_them() -> None:
    for found in (ROWS, FAILED):
        for figure in (
            scaling.throughput(found, "images/s"),
            scaling.speed_up(found, references(4)),
            scaling.efficiency(found),
            scaling.shares(found),
        ):
            assert "NaN" not in figure.to_json()
            json.loads(figure.to_json())
