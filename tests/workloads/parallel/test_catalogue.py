"""Large networks: their weights are those of the papers, and what fits is found."""

from __future__ import annotations

import pytest

from workshop.workloads.parallel.catalogue import NETWORKS

BY_TITLE = {network.title: network for network in NETWORKS}


@pytest.mark.parametrize(
    ("title", "parameters"),
    [
        ("ResNet-50, 64 images of 224 × 224", 25.5e6),
        ("U-Net, one image of 1360 × 1360", 31.0e6),
        ("GPT-2, small", 124e6),
        ("GPT-2, largest", 1.56e9),
        ("7 B transformer", 6.7e9),
        ("66 B transformer", 66e9),
    ],
)
def test_networks_have_the_weights_of_their_papers(title: str, parameters: float) -> None:
    assert BY_TITLE[title].parameters == pytest.approx(parameters, rel=0.02)


def test_many_weights_need_another_cut_than_large_images() -> None:
    device = 16e9
    assert [fit.way for fit in BY_TITLE["ResNet-50, 64 images of 224 × 224"].fits(device)] == ["one device"]
    assert [fit.way for fit in BY_TITLE["U-Net, one image of 8192 × 8192"].fits(device)] == ["spatial"]
    large = {fit.way: fit for fit in BY_TITLE["7 B transformer"].fits(device)}
    assert "one device" not in large and large["data, ZeRO 3"].ranks >= 8
    for fit in large.values():
        assert fit.ledger.total <= device
