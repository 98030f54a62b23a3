"""The network: what goes in, what comes out, and how many weights it has."""

from __future__ import annotations

import numpy as np
import pytest

from workshop.workloads.segmentation.unet import unet


@pytest.mark.parametrize(("size", "channels"), [(32, 2), (96, 1)])
def test_masks_are_as_large_as_images(size, channels):
    net = unet(size, channels)
    assert net.output_shape == (None, size, size, 1)
    given = np.random.RandomState(0).uniform(size=(2, size, size, channels)).astype(np.float32)
    assert np.isfinite(net(given).numpy()).all()


def test_its_size_is_that_of_its_layers():
    """Two convolutions of a level, at the bottom, and on the way up behind the one that enlarges; and the last one."""

    def conv(side, before, after):
        return side * side * before * after + after

    def twice(before, after):
        return conv(3, before, after) + conv(3, after, after)

    expected = twice(2, 8) + twice(8, 16) + twice(16, 32) + twice(32, 64)
    expected += sum(conv(2, 2 * width, width) + twice(2 * width, width) for width in (32, 16, 8)) + conv(1, 8, 1)
    normalised = 4 * (8 + 16 + 32) * 2 + 2 * 64 * 2  # a scale and an offset for each channel of the 14 convolutions
    net = unet(32, 2)
    assert net.count_params() == expected + normalised
    assert len(net.weights) == len(net.trainable_weights), "nothing is kept of the images beside the weights"
