"""What the closed form makes of a dense network's update."""

from __future__ import annotations

import numpy as np
import pytest

from tests.workloads.inversion.attacked import digits, own, seen
from workshop.workloads.inversion import attack
from workshop.workloads.inversion.likeness import matched

EXACT = 1e-4  # of pixels from 0 to 1; an update is a difference of weights in float32


@pytest.mark.parametrize("position", [0, 17, 1400])
def test_one_image_is_recovered_pixel_by_pixel(position):
    true = own(position)
    pictures, read = attack.recover(seen(true))
    np.testing.assert_allclose(pictures, true.images, rtol=0, atol=EXACT)
    assert read.tolist() == true.labels.tolist()


def test_of_few_images_each_is_recovered_with_its_own_label():
    true = own(3, 90)
    pictures, read = attack.recover(seen(true))
    order = matched(true.images, pictures)
    np.testing.assert_allclose(pictures[order], true.images, rtol=0, atol=EXACT)
    assert read[order].tolist() == true.labels.tolist()


def test_many_images_are_mixed():
    """Hardly any neuron is excited by one of them alone."""
    true = own(*range(48))
    pictures, read = attack.recover(seen(true))
    assert (pictures.shape, read.shape) == (true.images.shape, true.labels.shape)
    order = matched(true.images, pictures)
    errors = np.abs(pictures[order] - true.images).mean(axis=(1, 2, 3))
    assert (errors > 0.05).mean() > 0.5


def test_an_update_of_nothing_gives_nothing_away():
    update = seen(own(0))
    for images in (1, 3):
        empty = type(update)(update.model, np.zeros_like(update.update), images, update.rate)
        pictures, read = attack.recover(empty)
        assert pictures.shape == (images, 28, 28, 1)
        assert not pictures.any()
        assert len(read) == images


def test_the_data_are_what_they_are_taken_for():
    assert digits().train_images.max() == 255
