"""Images in a second, by rank and in all."""

from __future__ import annotations

import pytest

from tests.report.analysis.cases import metrics
from workshop.report.figures import theme
from workshop.report.training.panels import rank_throughput

TOLD = {"images_per_second": 9812.3, "images_per_second_deviation": 41.26, "images_per_second_ranks": [4890.0, 4922.3]}


def test_a_bar_for_each_rank_and_one_for_all() -> None:
    (bar,) = rank_throughput(metrics(2, **TOLD)).data
    assert list(bar.y) == ["rank 0", "rank 1", "all ranks"]
    assert list(bar.x) == [4890.0, 4922.3, 9812.3]
    assert list(bar.text) == ["4,890", "4,920", "<b>9,810 ± 41.3</b>"]
    assert list(bar.marker.color) == [theme.rank_colour(0), theme.rank_colour(1), theme.ACCENT]
    assert list(bar.error_x.array) == [0, 0, 41.26] and bar.error_x.visible
    told = TOLD | {"images_per_second_ranks_deviation": [20.4, 30.1]}
    (bar,) = rank_throughput(metrics(2, **told)).data
    assert list(bar.text) == ["4,890 ± 20.4", "4,920 ± 30.1", "<b>9,810 ± 41.3</b>"]
    assert list(bar.error_x.array) == [20.4, 30.1, 41.26]


@pytest.mark.parametrize(
    ("total", "deviation", "text"), [(43_920.0, 4400.0, "43,900 ± 4,400"), (2_500_000.0, 12_345.0, "2.5 M ± 12,300")]
)
def test_a_deviation_has_three_digits_of_its_own(total: float, deviation: float, text: str) -> None:
    told = {"images_per_second": total, "images_per_second_deviation": deviation}
    (bar,) = rank_throughput(metrics(2, **TOLD | told)).data
    assert bar.text[-1] == f"<b>{text}</b>"
