"""What the closed form makes of a dense network's update, and how like an image a picture is said to be."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.workloads.inversion.attacked import own, seen
from workshop.workloads.inversion import attack
from workshop.workloads.inversion.attack import matched, nearest, psnr

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


@given(st.floats(0.001, 1))
def test_psnr_of_an_equal_error_everywhere(error):
    assert psnr(np.zeros((28, 28, 1)), np.full((28, 28, 1), error)) == pytest.approx(-20 * np.log10(error))


@given(st.permutations(range(6)), st.integers(0, 1000))
def test_pictures_in_any_order_find_their_images(order, seed):
    images = np.random.RandomState(seed).random_sample((6, 28, 28, 1))
    pictures = images[list(order)] + 0.01
    assert [list(order)[at] for at in matched(images, pictures)] == list(range(6))


def test_the_nearest_image_is_the_true_one_or_another():
    among = np.random.RandomState(3).randint(0, 256, (5000, 28, 28)).astype(np.uint8)
    picture = among[4500].astype(np.float32)[None, ..., None] / 255
    true, false = nearest(np.concatenate([picture, picture]), [4500, 2], among)
    assert true[0] == pytest.approx(1) and true[1] < 0.3
    assert false[0] < 0.3 and false[1] == pytest.approx(1)
