"""Three ways by round: a mean with its band, and the run that goes on."""

from __future__ import annotations

from workshop.report.figures import theme
from workshop.workloads.federated.study.cards import COLOURS, NOW, lines
from workshop.workloads.federated.study.results import Band, Seeded

FEDERATED = Band((1, 2, 3), (0.5, 0.7, 0.8), (0.4, 0.6, 0.7), (0.6, 0.8, 0.9), 3)
ALONE = Band((1, 2, 3), (0.2, 0.3, 0.3), (0.2, 0.3, 0.3), (0.2, 0.3, 0.3), 1)
GOING_ON = Seeded(4, 7, {}, {("federated", "held_out"): {1: 0.45, 2: 0.66}})


def test_a_way_has_a_mean_a_band_and_the_run_that_goes_on() -> None:
    drawn = lines({"federated": FEDERATED, "alone": ALONE}, GOING_ON, "held_out", rounds=5, measure="accuracy")
    low, high, mean, now, alone = drawn.data
    assert (list(low.y), list(high.y)) == ([0.4, 0.6, 0.7], [0.6, 0.8, 0.9])
    assert high.fill == "tonexty" and low.hoverinfo == "skip"
    assert (mean.name, list(mean.y), mean.line.dash) == ("federated <b>80.0 %</b>", [0.5, 0.7, 0.8], "solid")
    assert (list(now.x), list(now.y), now.meta, now.showlegend) == ([1, 2], [0.45, 0.66], NOW, False)
    assert (alone.name, alone.line.dash) == ("each alone <b>30.0 %</b>", "dash"), "one seed has no band"


def test_ways_have_the_colours_of_a_run_s_own_page() -> None:
    assert [COLOURS[way] for way in ("federated", "centralised", "alone")] == list(theme.RANKS[:3])


def test_before_the_first_end_the_run_that_goes_on_is_in_the_legend() -> None:
    drawn = lines({"federated": None}, GOING_ON, "held_out", rounds=30)
    (now,) = drawn.data
    assert now.showlegend and now.name == "federated, seed 4"
    assert tuple(drawn.layout.xaxis.range) == (0.5, 30.5), "the axis has room for all rounds"


def test_nothing_yet() -> None:
    assert lines({"alone": None}, None, "own").layout.annotations[0].text == "No round is over yet"
