"""Which differences are more than chance: the share of false alarms."""

from __future__ import annotations

import random

import pytest

from workshop.study.guided.step_results import USUAL, WEIGHT, chance


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
