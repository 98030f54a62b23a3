"""Training at an institution against NumPy, in one process."""

from __future__ import annotations

import numpy as np
import pytest

from tests.workloads.federated import oracle
from workshop.engine.tensorflow import tensorflow
from workshop.workloads.federated.training.learner import LocalLearner
from workshop.workloads.mnist import models

RATE, MU = 0.2, 3.0
AGREE = 2e-6  # absolute, float32 against float64


def learner(mu):
    tensorflow().keras.utils.set_random_seed(4)
    model = models.build("dense", {})
    return LocalLearner(model, models.loss_of(model), models.correct, RATE, mu)


@pytest.fixture(scope="module")
def plain():
    return learner(None)


@pytest.fixture(scope="module")
def images():
    stream = np.random.default_rng(0)
    return stream.random((40, 28, 28, 1), np.float32), stream.integers(0, 10, 40).astype(np.int32)


ORDER = [np.arange(0, 16), np.arange(16, 32), np.arange(32, 40)]  # the last batch is smaller


def by_hand(start, images, labels, mu):
    weights = start.astype(np.float64)
    for read in ORDER:
        weights = weights - RATE * (oracle.gradient(weights, images[read], labels[read]) + mu * (weights - start))
    return weights


def test_weights_as_a_vector_and_back(plain):
    before = plain.vector()
    assert before.dtype == np.float32
    assert len(before) == plain.parameters == 784 * 128 + 128 + 1280 + 10
    changed = before + 1
    plain.load(changed)
    assert np.array_equal(plain.vector(), changed)
    plain.load(before)
    assert np.array_equal(plain.vector(), before)


def test_plain_steps_are_gradient_descent(plain, images):
    start = plain.vector()
    told = plain.train(*images, ORDER)
    np.testing.assert_allclose(plain.vector(), by_hand(start, *images, 0.0), rtol=0, atol=AGREE)
    assert told.count == 40
    plain.load(start)


def test_the_proximal_term_is_that_of_fedprox(images):
    near = learner(MU)
    for start in (near.vector(), near.vector() * 0.5):  # it is held near what was loaded last
        near.load(start)
        near.train(*images, ORDER)
        np.testing.assert_allclose(near.vector(), by_hand(start, *images, MU), rtol=0, atol=AGREE)
    assert np.abs(by_hand(start, *images, MU) - by_hand(start, *images, 0.0)).max() > 100 * AGREE


def test_a_model_is_tested_on_all_images_and_not_changed(plain, images):
    pictures, labels = (np.concatenate([part] * 20) for part in images)  # more than are tested together
    start = plain.vector()
    told = plain.test(pictures, labels)
    first, first_bias, second, second_bias = oracle.unpacked(start)
    outputs = np.maximum(pictures.reshape(800, -1) @ first + first_bias, 0) @ second + second_bias
    right = outputs.argmax(axis=1) == labels
    losses = np.log(np.exp(outputs).sum(axis=1)) - outputs[np.arange(800), labels]
    assert (told.count, told.scores) == (800, right.sum())
    assert told.mean_loss == pytest.approx(losses.mean(), rel=1e-4)
    assert np.array_equal(plain.vector(), start)
    assert np.isnan(plain.test(pictures[:0], labels[:0]).mean_score)
