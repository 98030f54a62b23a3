"""The digits that the last layer's gradient gives away."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.workloads.inversion.attacked import Institution, digits, own
from workshop.workloads.inversion import attack
from workshop.workloads.inversion.attack import AttackInput


@pytest.mark.parametrize("name", ["dense", "cnn"])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_label_of_a_single_image_is_always_right(name, seed):
    institution = Institution(name, seed)
    positions = np.random.RandomState(seed).choice(len(digits().train_labels), 25, replace=False)
    for position in positions:
        true = own(int(position))
        assert attack.digits(institution.seen(true)).tolist() == true.labels.tolist()


class Undecided:
    """A model of nothing but the last layer's bias, which expects every digit alike."""

    input_shape = (None, 28, 28, 1)

    def __init__(self, bias):
        self.weights = [bias]

    def __call__(self, pictures, training):
        return np.zeros((len(pictures), 10))


def seen_with(gradient, images):
    bias = np.asarray(gradient, np.float32)
    return AttackInput(Undecided(bias), -bias, images, 1.0)


@given(st.lists(st.floats(-8, 8), min_size=10, max_size=10), st.integers(0, 9), st.floats(1e-3, 1e3))
def test_only_the_label_has_a_negative_gradient(logits, label, scale):
    likely = np.exp(logits) / np.exp(logits).sum()
    gradient = (likely - np.eye(10)[label]) * scale
    assert attack.digits(seen_with(gradient, 1)).tolist() == [label]


@given(st.lists(st.integers(0, 9), min_size=2, max_size=16))
def test_several_labels_are_counted_where_the_model_expects_nothing(labels):
    gradient = 0.1 - np.bincount(labels, minlength=10) / len(labels)
    assert attack.digits(seen_with(gradient, len(labels))).tolist() == sorted(labels)


def test_several_labels_of_a_real_update_are_read():
    true = own(4, 40, 400, 1000)
    assert attack.digits(Institution("cnn").seen(true)).tolist() == sorted(true.labels.tolist())
