"""Which differences are more than chance: the share of false alarms."""

from __future__ import annotations

import random

import pytest

from workshop.study.guided.chance import USUAL, WEIGHT, chance


def test_without_repeats_it_is_what_is_usual() -> None:
    told = chance([(100.0,), (300.0,), ()])
    assert (told.deviation, told.freedom) == (USUAL, WEIGHT)
    assert not told.differ((100.0,), (103.0,)) and told.differ((100.0,), (150.0,))
    assert not told.differ((), (1.0,))


@pytest.mark.parametrize("noise", [0.005, 0.03])
def test_a_step_without_effect_is_seldom_called_one(noise: float) -> None:
    draw, alarms, found = random.Random(7), 0, 0
    for _ in range(400):
        cells = [[100 * draw.lognormvariate(0, noise) for _ in range(2)] for _ in range(3)]
        others = [[50 * draw.lognormvariate(0, noise) for _ in range(2)] for _ in range(8)]
        told = chance([*cells, *others])
        order = sorted(cells, key=sum)
        alarms += told.differ(order[0], order[-1], 3)
        found += told.differ([rate * (1 + 6 * noise + 0.05) for rate in order[-1]], order[0], 3)
    assert alarms <= 0.08 * 400
    assert found >= 0.9 * 400, "what is there is found"


@pytest.mark.parametrize(
    ("rates", "other", "differ", "alike"),
    [
        ((100, 101, 100), (100, 101, 99), False, True),
        ((100, 101, 100), (200, 201, 199), True, False),
        ((100, 140), (100, 60), False, False),  # 1.5x, and not shown: nor is it shown to be nothing
        ((100,), (), False, False),
    ],
)
def test_what_is_not_shown_to_differ_is_not_shown_to_be_alike(
    rates: tuple[float, ...], other: tuple[float, ...], differ: bool, alike: bool
) -> None:
    told = chance([rates, other, rates, other])
    assert (told.differ(rates, other), told.agree(rates, other)) == (differ, alike)
