"""Params of the data-parallel U-Net, and what is refused in a sentence."""

from __future__ import annotations

import pytest

from workshop.core.errors import BadInput
from workshop.workloads.unet import WORKLOAD


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"size": 50}, "size is 50: it should be a multiple of 8"),
        ({"size": 16}, "size is 16: it should be"),
        ({"dropout": "0,0.1,0.2"}, "the network has 4 levels; give one rate for all or 4, separated by commas"),
        ({"dropout": "1"}, "dropout is '1', .* each at least 0 and less than 1"),
        ({"dropout": "0,0,0,-0.1"}, "each at least 0 and less than 1"),
        ({"dropout": "nan"}, "each at least 0 and less than 1"),
        ({"dropout": "much"}, "dropout is 'much', but the network has 4 levels"),
        ({"dropout": ""}, "dropout is '', but"),
        ({"loss": "hinge"}, "dice.*cross-entropy"),
    ],
)
def test_bad_values_are_refused_in_one_sentence(values: dict[str, object], sentence: str) -> None:
    with pytest.raises(BadInput, match=sentence) as refusal:
        WORKLOAD.check(values)
    assert "\n" not in str(refusal.value)


def test_a_rate_of_dropout_is_that_of_all_levels_or_of_each() -> None:
    assert WORKLOAD.check({"dropout": "0.2"}).dropout_rates == (0.2, 0.2, 0.2, 0.2)
    assert WORKLOAD.check({"dropout": "0, 0, 0.1,0.2"}).dropout_rates == (0, 0, 0.1, 0.2)


@pytest.mark.parametrize(
    ("values", "ranks", "sentence"),
    [
        ({"patients": 6, "batch": 4}, 2, "batch is 4, but of the 6 examples a rank's share is only 3"),
        ({"patients": 2, "batch": 1}, 3, "3 ranks can't share 2 examples"),
    ],
)
def test_a_batch_beyond_a_rank_s_share_is_refused(values: dict[str, object], ranks: int, sentence: str) -> None:
    with pytest.raises(BadInput, match=sentence):
        WORKLOAD.fits(WORKLOAD.check(values), {}, ranks)
