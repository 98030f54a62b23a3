"""Memory over time."""

from __future__ import annotations

import pytest

from workshop.report.figures.memory import NO_MEMORY, memory


def test_lines_are_in_the_unit_that_fits_the_largest() -> None:
    small = memory({"rank 0": ([0.0, 1.0], [200e6, 300e6])})
    assert list(small.data[0].y) == [200.0, 300.0]
    assert small.layout.yaxis.title.text.endswith("MB")
    large = memory({"rank 0": ([0.0], [2.5e9]), "rank 1": ([0.0], [0.5e9])})
    assert [line.y[0] for line in large.data] == [2.5, 0.5]
    assert large.layout.yaxis.range[0] == 0


@pytest.mark.parametrize(
    ("values", "words"), [([1e9, 1.2e9], "+200 MB"), ([1.2e9, 1e9], "−200 MB"), ([1e9], "+0 bytes")]
)
def test_the_legend_says_what_was_gained(values: list[float], words: str) -> None:
    assert memory({"predict": (list(range(len(values))), values)}).data[0].name == f"predict: {words}"


def test_contenders_differ_in_more_than_colour() -> None:
    one, other = memory({"predict": ([0], [1e9]), "predict_on_batch": ([0], [1e9])}).data
    assert one.line.dash != other.line.dash


def test_nothing_yet() -> None:
    assert memory({}).layout.annotations[0].text == NO_MEMORY
    assert memory({"rank 0": ([], [])}).layout.annotations[0].text == NO_MEMORY
