"""Rings of shares."""

from __future__ import annotations

import math

from workshop.report.figures import theme
from workshop.report.figures.bars import NO_SHARES, rings


def test_a_ring_has_the_parts_in_their_order() -> None:
    figure = rings({"before": {"train": 60.0, "evaluate": 39.5, "rest": 0.5}})
    (ring,) = figure.data
    assert list(ring.labels) == ["train", "evaluate", "rest"]
    assert list(ring.text) == ["60 %", "40 %", ""], "a sliver has no room for words"
    assert ring.hovertext[2] == "rest: 0.5 %"
    assert list(ring.textposition) == ["inside", "inside", "outside"], "a thin slice has no room for words"
    assert ring.title.text == "before"
    assert not ring.sort


def test_a_part_has_the_same_colour_before_and_after() -> None:
    before, after = rings({"before": {"a": 1.0, "train": 2.0}, "after": {"train": 3.0, "b": 1.0}}).data
    colours = [dict(zip(ring.labels, ring.marker.colors, strict=True)) for ring in (before, after)]
    assert colours[0]["train"] == colours[1]["train"] == theme.ACCENT
    assert len({colours[0]["a"], colours[1]["b"], theme.ACCENT}) == 3
    assert before.domain.x[1] < after.domain.x[0]


def test_what_is_no_amount_is_left_out() -> None:
    (ring,) = rings({"": {"a": 1.0, "b": 0.0, "c": -1.0, "d": math.nan, "e": math.inf}}).data
    assert list(ring.labels) == ["a"]
    assert rings({"": {"a": 0.0}}).layout.annotations[0].text == NO_SHARES
    assert rings({"": {}}).layout.annotations[0].text == NO_SHARES
