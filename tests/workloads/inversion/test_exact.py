"""What the closed form makes of a dense network's update."""

from __future__ import annotations

import numpy as np

from tests.workloads.inversion.attacked import own, seen
from workshop.workloads.inversion import attack
from workshop.workloads.inversion.attack import matched

EXACT = 1e-4  # of pixels from 0 to 1; an update is a difference of weights in float32


def test_one_image_is_recovered_pixel_by_pixel():
    true = own(0)
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
