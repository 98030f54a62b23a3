"""Images that are too small for a network, and the batches that are made up."""

from __future__ import annotations

import pytest

from workshop.core.errors import BadInput
from workshop.workloads.resnet import SMALLEST, WORKLOAD
from workshop.workloads.resnet.run import NETWORKS, made_up_batch, network


@pytest.mark.parametrize("model", [model for model, size in SMALLEST.items() if size > 32])
def test_an_image_that_is_too_small_for_the_network_is_refused(model: str) -> None:
    with pytest.raises(BadInput, match=f"image_size is 64, but {model} takes images of at least 75 pixels a side"):
        WORKLOAD.check({"model": model, "image_size": 64})
    WORKLOAD.check({"model": model, "image_size": 75})


@pytest.mark.parametrize("model", NETWORKS)
def test_keras_has_the_same_smallest_images(model: str) -> None:
    smallest = SMALLEST[model]
    with pytest.raises(ValueError, match=f"at least {smallest}x{smallest}"):
        network(model, smallest - 1)


def test_each_rank_has_a_batch_of_its_own_and_the_same_again() -> None:
    params = WORKLOAD.check({"batch": 3, "image_size": 32})
    images, labels = made_up_batch(params, 1)
    assert images.shape == (3, 32, 32, 3) and images.dtype == "float32"
    assert labels.shape == (3,) and labels.dtype == "int32"
    assert (made_up_batch(params, 1)[0] == images).all()
    assert not (made_up_batch(params, 0)[0] == images).all()
