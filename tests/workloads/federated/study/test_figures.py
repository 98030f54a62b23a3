"""Three ways by round: a mean with its band, and the run that goes on."""

from __future__ import annotations

from workshop.report.figures import theme
from workshop.workloads.federated.study.cards import COLOURS, NOW, WayCurve, lines
from workshop.workloads.federated.study.results import Band

FEDERATED = WayCurve(
    "federated",
    "federated",
    Band((1, 2, 3), (0.5, 0.7, 0.8), (0.4, 0.6, 0.7), (0.6, 0.8, 0.9), 3),
    {1: 0.45, 2: 0.66},
    4,
)
ALONE = WayCurve("alone", "each alone", Band((1, 2, 3), (0.2, 0.3, 0.3), (0.2, 0.3, 0.3), (0.2, 0.3, 0.3), 1))


def test_a_way_has_a_mean_a_band_and_the_run_that_goes_on() -> None:
    low, high, mean, now, alone = lines([FEDERATED, ALONE], rounds=5, measure="accuracy").data
    assert (list(low.y), list(high.y)) == ([0.4, 0.6, 0.7], [0.6, 0.8, 0.9])
    assert high.fill == "tonexty" and low.hoverinfo == "skip"
    assert (mean.name, list(mean.y), mean.line.dash) == ("federated <b>80.0 %</b>", [0.5, 0.7, 0.8], "solid")
    assert (list(now.x), list(now.y), now.meta, now.showlegend) == ([1, 2], [0.45, 0.66], NOW, False)
    assert (alone.name, alone.line.dash) == ("each alone <b>30.0 %</b>", "dash"), "one seed has no band"


def test_ways_have_the_colours_of_a_run_s_own_page() -> None:
    assert [COLOURS[way] for way in ("federated", "centralised", "alone")] == list(theme.RANKS[:3])


def test_before_the_first_end_the_run_that_goes_on_is_in_the_legend() -> None:
    (now,) = lines([WayCurve("federated", "federated", now={1: 0.4}, seed=0)], rounds=9).data
    assert now.showlegend and now.name == "federated, seed 0"


def test_the_axis_has_room_for_all_rounds() -> None:
    few = lines([WayCurve("alone", "each alone", now={1: 0.4}, seed=0)], rounds=30)
    assert tuple(few.layout.xaxis.range) == (0.5, 30.5)


def test_nothing_yet() -> None:
    assert lines([WayCurve("alone", "each alone")]).layout.annotations[0].text == "No round is over yet"
