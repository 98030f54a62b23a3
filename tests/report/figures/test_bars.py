"""Bars of settings against a baseline, groups of contenders, and the waterfall from a naive start to the end.

Rings of shares.
"""

from __future__ import annotations

import math

from workshop.report.figures import theme
from workshop.report.figures.bars import BASELINE, NO_SHARES, WaterfallStep, grouped, rings, settings, waterfall
from workshop.report.figures.marks import NOTHING, Point

SETS = [
    Point("set 1", (100.0, 102.0, 104.0)),
    Point("set 2", (130.0,)),
    Point("set 3", state="failed", why="no such option"),
    Point("set 4", (51.0,)),
]


def test_a_bar_for_each_that_was_measured() -> None:
    figure = settings(SETS, "images/s", "set 1")
    (bars,) = figure.data
    assert list(bars.x) == [102.0, 130.0, 51.0]
    assert list(bars.y) == list(bars.customdata) == [0, 1, 3]
    assert [text.strip("</b>") for text in bars.text] == ["102 · baseline", "130 · 1.27×", "51 · 0.50×"]
    assert list(bars.marker.color)[:2] == [BASELINE, theme.ACCENT], "the baseline is grey, the best is dark"
    assert [shape.x0 for shape in figure.layout.shapes] == [102.0]
    assert (bars.error_x.array[0], bars.error_x.arrayminus[0]) == (2.0, 2.0)


def test_names_stand_above_their_bars_and_failures_where_a_bar_would_be() -> None:
    notes = {note.text: note for note in settings(SETS, "images/s", "set 1").layout.annotations}
    assert set(notes) == {"<b>set 1</b>", "set 2", "set 3", "set 4", "failed"}
    assert (notes["failed"].y, notes["failed"].hovertext) == (2, "no such option")


def test_a_long_name_is_broken_and_its_tags_are_words() -> None:
    long = "KMP_AFFINITY=granularity=fine,compact,1,0 KMP_BLOCKTIME=<i>200</i>"
    (name, *_) = settings([Point(long, (1.0,))], "images/s").layout.annotations
    assert name.text.count("<br>") == 1
    assert "&lt;i&gt;" in name.text


def test_groups_stand_beside_each_other() -> None:
    groups = {
        "Open MPI": [Point("1", (100.0,)), Point("2", (180.0,))],
        "Intel MPI": [Point("1", (110.0,)), Point("2", state="failed")],
    }
    figure = grouped(["1 rank", "2 ranks"], groups, "ranks", "images/s")
    first, second = figure.data
    assert list(first.x) == [-0.2, 0.8]
    assert list(second.x) == [0.2]
    assert list(second.customdata) == [2]
    (note,) = figure.layout.annotations
    assert (note.text, note.x) == ("Intel MPI: failed", 1.2)
    assert list(figure.layout.xaxis.ticktext) == ["1 rank", "2 ranks"]
    assert grouped(["1"], {"a": [Point("1")]}, "", "").layout.annotations[0].text == NOTHING


START = WaterfallStep("naive start", 500.0)
STEPS = [WaterfallStep("threads", 750.0), WaterfallStep("variables", 700.0, sure=False), WaterfallStep("ranks", 1400.0)]


def test_a_waterfall_has_each_step_and_factors_that_multiply_to_that_of_all() -> None:
    (bars,) = waterfall(START, STEPS, "images/s").data
    assert list(bars.x) == [500.0, 250.0, -50.0, 700.0, 1400.0]
    assert list(bars.measure) == ["absolute", "relative", "relative", "relative", "total"]
    texts = [text.removeprefix("<b>").removesuffix("</b>") for text in bars.text]
    assert texts == ["500", "×1.50", "×0.93 ?", "×2.00", "1,400 · ×2.80"]


def test_names_are_words() -> None:
    assert "&lt;b&gt;" in waterfall(START, [WaterfallStep("<b>bold</b>", 2.0)], "").layout.yaxis.ticktext[1]


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
