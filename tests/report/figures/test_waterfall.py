"""The waterfall from a naive start to the end."""

from __future__ import annotations

import pytest

from workshop.report.figures.bars import GAIN, LOSS, WaterfallStep, waterfall
from workshop.report.figures.points import NOTHING

START = WaterfallStep("naive start", 500.0)
STEPS = [WaterfallStep("threads", 750.0), WaterfallStep("variables", 700.0, sure=False), WaterfallStep("ranks", 1400.0)]


def test_each_step_begins_where_the_one_before_it_ended() -> None:
    (bars,) = waterfall(START, STEPS, "images/s").data
    assert list(bars.base) == [0.0, 500.0, 700.0, 700.0, 0.0]
    assert list(bars.x) == [500.0, 250.0, 50.0, 700.0, 1400.0]
    assert list(bars.marker.color)[1:4] == [GAIN, LOSS, GAIN]
    assert bars.marker.pattern.shape[2] == "/", "what chance could do as well is hatched"


def test_factors_multiply_to_that_of_all_together() -> None:
    notes = [
        note.text.removeprefix("<b>").removesuffix("</b>") for note in waterfall(START, STEPS, "x").layout.annotations
    ]
    assert notes == ["500", "×1.50", "×0.93 ?", "×2.00", "1400 · ×2.80"]
    product = 1.0
    for note in notes[1:4]:
        product *= float(note.removeprefix("×").removesuffix(" ?"))
    assert product == pytest.approx(2.8, rel=0.01)


def test_without_a_step_and_without_a_start() -> None:
    assert list(waterfall(START, [], "images/s").data[0].x) == [500.0, 500.0]
    assert waterfall(WaterfallStep("naive", 0.0), STEPS, "images/s").layout.annotations[0].text == NOTHING


def test_names_are_words() -> None:
    assert "&lt;b&gt;" in waterfall(START, [WaterfallStep("<b>bold</b>", 2.0)], "").layout.yaxis.ticktext[1]
