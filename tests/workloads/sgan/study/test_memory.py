"""When memory grows, and when it only seems to."""

from __future__ import annotations

import random

import pytest

from workshop.workloads.sgan.study.facts import growth

MB = 1e6


def noisy(slope: float, count: int = 60, noise: float = 0.3 * MB, seed: int = 1) -> list[float]:
    chance = random.Random(seed)
    return [600 * MB + slope * number + chance.gauss(0, noise) for number in range(count)]


@pytest.mark.parametrize("slope", [0.2 * MB, 1 * MB, 20 * MB])
def test_a_leak_is_found_with_its_size(slope: float) -> None:
    found = growth(noisy(slope))
    assert found is not None and found.grows
    assert found.added == pytest.approx(100 * slope, abs=2 * found.uncertainty)


@pytest.mark.parametrize("seed", range(20))
def test_noise_is_no_leak(seed: int) -> None:
    found = growth(noisy(0.0, seed=seed))
    assert found is not None and not found.grows


def test_steps_that_stay_and_pools_that_fill_are_no_leak() -> None:
    warm = [600 * MB + 80 * MB * (1 - 0.8**number) for number in range(60)]
    found = growth(warm)
    assert found is not None and not found.grows, "it slows down"
    jump = [600 * MB] * 25 + [640 * MB] * 35
    found = growth(jump)
    assert found is not None and not found.grows, "once, and then no more"
    flat = growth([600 * MB] * 30)
    assert flat is not None and (flat.added, flat.uncertainty, flat.grows) == (0.0, 0.0, False)
    falling = growth(noisy(-1 * MB))
    assert falling is not None and not falling.grows


def test_a_staircase_that_goes_on_is_a_leak_whose_uncertainty_is_wider() -> None:
    stairs = [600 * MB + 10 * MB * (number // 10) for number in range(90)]
    found = growth(stairs)
    assert found is not None and found.grows
    plain = growth(noisy(1 * MB, 90, 3 * MB))
    assert plain is not None and found.uncertainty > 1.5 * plain.uncertainty
