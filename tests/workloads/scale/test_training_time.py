"""The time of whole trainings: against sums by hand, against a published training, and bad input."""

from __future__ import annotations

import pytest

from tests.workloads.scale.test_step import measurement
from workshop.core.errors import BadInput
from workshop.workloads.scale.training_time import WATTS, training, training_time, training_times, trainings

CALIBRATION = measurement().calibration


def test_one_device_computes_all_examples() -> None:
    preset = training("resnet-50")
    alone = training_time(preset, CALIBRATION, 1)
    assert alone.seconds == pytest.approx(preset.examples / 334.0, rel=0.02)
    assert alone.low < alone.seconds < alone.high
    assert alone.energy == pytest.approx(alone.seconds / 3600 * WATTS / 1000)


def test_large_networks_are_cut_until_their_state_fits() -> None:
    cuts = {name: preset.cut for name, preset in trainings().items()}
    assert cuts == {"resnet-50": (1, 1), "gpt2-xl": (1, 1), "7b": (4, 1), "66b": (8, 4)}


@pytest.mark.parametrize("name", ["7b", "66b"])
def test_a_cut_costs_more_than_its_computation(name: str) -> None:
    preset = training(name)
    computation = 6 * preset.parameters * preset.tokens * preset.examples / 147e12
    hours = training_time(preset, CALIBRATION, 512).device_hours * 3600
    assert computation < hours < 2 * computation


@pytest.mark.parametrize("name", list(trainings()))
def test_more_devices_and_faster_links_save_time_and_cost_hours(name: str) -> None:
    preset = training(name)
    times = training_times(preset, CALIBRATION)
    seconds = [time.seconds for time in times]
    hours = [time.device_hours for time in times]
    assert len(times) > 4 and hours == sorted(hours)
    assert seconds[:4] == sorted(seconds[:4], reverse=True)
    slow = training_times(preset, CALIBRATION, slower=100)
    assert all(far.seconds >= near.seconds for far, near in zip(slow, times, strict=True))
    assert slow[-1].seconds > 2 * times[-1].seconds


@pytest.mark.parametrize(
    ("name", "devices", "sentence"),
    [
        ("66b", 16, "take a multiple of 32 up to 32,768"),
        ("66b", 48, "take a multiple of 32"),
        ("resnet-50", 16384, "a step has 8,192 examples"),
        ("resnet-50", 0, "can't use 0 devices"),
    ],
)
def test_devices_that_cannot_be_are_refused(name: str, devices: int, sentence: str) -> None:
    with pytest.raises(BadInput, match=sentence):
        training_time(training(name), CALIBRATION, devices)


def test_an_unknown_training_names_the_known_ones() -> None:
    with pytest.raises(BadInput, match="there are resnet-50, gpt2-xl, 7b, 66b"):
        training("175b")
