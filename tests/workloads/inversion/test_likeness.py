"""How like an image a picture is said to be."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from workshop.workloads.inversion.attack import matched, nearest, psnr


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
