"""The embedded digits: scikit-learn's, in MNIST's format, the same every time."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from math import ceil, floor

import numpy as np
import pytest
from sklearn.datasets import load_digits

from workshop.workloads.mnist.data.images import digits

DIGEST = (
    "import hashlib, sys; from workshop.workloads.mnist.data.images import digits;"
    "assert 'sklearn' not in sys.modules;"  # which takes seconds
    "print(hashlib.sha256(b''.join(a.tobytes() for pair in digits() for a in pair)).hexdigest())"
)


def test_both_parts_have_the_digits_in_equal_shares():
    (_, train), (_, held_out) = digits()
    everything = np.bincount(load_digits().target, minlength=10)
    np.testing.assert_array_equal(np.bincount(train, minlength=10) + np.bincount(held_out, minlength=10), everything)
    assert abs(np.bincount(held_out, minlength=10) - everything / 5).max() < 1


def test_the_images_are_scikit_learns_digits():
    """Each is one of scikit-learn's, with its label, interpolated between the centres of its pixels."""
    known = load_digits()
    places = np.clip((np.arange(20) + 0.5) * 8 / 20 - 0.5, 0, 7)
    weights = np.maximum(1 - abs(places[:, None] - np.arange(8)), 0)
    boxes = weights @ known.images @ weights.T * (255 / 16)
    (train, train_labels), (held_out, held_out_labels) = digits()
    found = np.concatenate([train, held_out]).astype(float)
    labels = np.concatenate([train_labels, held_out_labels])
    # Each box at the four places nearest to where its centre of mass is in the middle.
    expected = np.zeros((len(boxes), 2, 2, 28, 28))
    for places_of_box, box in zip(expected, boxes, strict=True):
        down, right = (13.5 - np.average(np.arange(20), weights=box.sum(axis=axis)) for axis in (1, 0))
        for i, top in enumerate((floor(down), ceil(down))):
            for j, left in enumerate((floor(right), ceil(right))):
                places_of_box[i, j, top : top + 20, left : left + 20] = box
    flat, all_expected = found.reshape(1797, -1), expected.reshape(4 * 1797, -1)
    nearest = ((all_expected**2).sum(axis=1) - 2 * flat @ all_expected.T).argmin(axis=1)
    np.testing.assert_allclose(flat, all_expected[nearest], atol=1.5)
    np.testing.assert_array_equal(labels, known.target[nearest // 4])
    assert len(set(nearest // 4)) == 1797


@pytest.mark.real
def test_they_are_the_same_every_time():
    here = hashlib.sha256(b"".join(a.tobytes() for pair in digits() for a in pair)).hexdigest()
    there = subprocess.run([sys.executable, "-c", DIGEST], capture_output=True, text=True, check=True).stdout.strip()
    assert here == there
    assert here == "cf6f3890691be98f1ea983de0205dad422824c4ec2f06dadb0edb72621ca532f"
