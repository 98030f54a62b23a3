"""Params of the number formats, and what is refused in a sentence."""

from __future__ import annotations

import pytest

from workshop.core.errors import BadInput
from workshop.workloads.quantisation import WORKLOAD


@pytest.mark.parametrize(("name", "value"), [("batch", 0), ("calibration", 0), ("images", 0), ("rounds", 0)])
def test_a_number_that_is_too_small_is_refused(name: str, value: int) -> None:
    with pytest.raises(BadInput, match=f"{name} is {value}: it should be"):
        WORKLOAD.check({name: value})


@pytest.mark.parametrize(("name", "right"), [("network", "digits.*resnet"), ("formats", "all.*int8")])
def test_another_word_is_refused_with_those_that_exist(name: str, right: str) -> None:
    with pytest.raises(BadInput, match=right):
        WORKLOAD.check({name: "fp4"})


@pytest.mark.parametrize(
    ("params", "ranks", "words"),
    [
        ({"calibration": 1438}, 1, "calibration is 1438, but there are 1437 images for it"),
        ({"network": "resnet", "calibration": 101}, 1, "calibration is 101, but there are 100 images for it"),
        ({"images": 1}, 2, "2 ranks share 1 images, but each needs one"),
        ({"network": "resnet"}, 101, "101 ranks share 100 images"),
    ],
)
def test_too_few_images_are_refused(params: dict[str, object], ranks: int, words: str) -> None:
    checked = WORKLOAD.check({"data": "digits", **params})
    with pytest.raises(BadInput, match=words):
        WORKLOAD.fits(checked, WORKLOAD.inputs(checked, None), ranks)


def test_what_there_is_enough_of_is_taken() -> None:
    checked = WORKLOAD.check({"data": "digits", "calibration": 1437, "images": 2})
    WORKLOAD.fits(checked, WORKLOAD.inputs(checked, None), 2)
