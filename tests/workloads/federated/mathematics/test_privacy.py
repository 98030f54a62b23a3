"""Clipping and noise against NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from tests.workloads.federated import oracle
from workshop.core.errors import BadInput
from workshop.engine.tensorflow import tensorflow
from workshop.workloads.federated.mathematics.privacy import clipped, noised, stream
from workshop.workloads.federated.training.learner import LocalLearner, PrivateLearner
from workshop.workloads.mnist import models

RATE = 0.2
AGREE = 2e-6  # absolute, float32 against float64
VALUES = arrays(np.float32, st.integers(1, 20), elements=st.floats(-1e3, 1e3, width=32))


@settings(deadline=None)
@given(VALUES, st.floats(1e-3, 1e5))
def test_a_clipped_update_keeps_its_direction_and_at_most_the_length_asked_for(update, clip):
    length = np.linalg.norm(update.astype(np.float64))
    found, was_longer = clipped(update, clip)
    assert found.dtype == np.float32
    assert was_longer == (length > clip)
    if not was_longer:
        assert np.array_equal(found, update)
    else:
        assert np.linalg.norm(found.astype(np.float64)) == pytest.approx(clip, rel=1e-6)
        np.testing.assert_allclose(found * (length / clip), update, rtol=1e-5, atol=1e-5 * length)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_what_is_no_number_does_not_become_one_by_clipping(bad):
    assert not np.isfinite(clipped(np.array([1, bad], np.float32), 1.0)[0]).all()


def test_noise_has_the_variance_that_epsilon_supposes():
    found = noised(np.full(200_000, 3.0), used=2, expected=4.0, spread=0.6, seed=[1, 2])
    assert found.mean() == pytest.approx(1.5, abs=0.003)  # the sum of two, over the four that were expected
    assert found.std() == pytest.approx(0.6 / 4, rel=0.01)
    again = noised(np.full(200_000, 3.0), used=2, expected=4.0, spread=0.6, seed=[1, 2])
    assert np.array_equal(found, again)
    other = noised(np.full(200_000, 3.0), used=2, expected=4.0, spread=0.6, seed=[1, 3])
    assert abs(np.corrcoef(found, other)[0, 1]) < 0.01


def learner(kind=LocalLearner, optimizer="sgd", mu=None, **named):
    tensorflow().keras.utils.set_random_seed(4)
    model = models.build("dense", {})
    return kind(model, models.loss_of(model), models.correct, RATE, mu, optimizer=optimizer, **named)


@pytest.fixture(scope="module")
def images():
    stream = np.random.default_rng(0)
    return stream.random((40, 28, 28, 1), np.float32), stream.integers(0, 10, 40).astype(np.int32)


ORDER = [np.arange(0, 16), np.arange(16, 40), np.arange(0)]  # as many as were drawn, also nobody


def test_each_image_moves_a_step_by_the_clip_at_most(images):
    pictures, labels = images
    clip, expected = 0.9, 12.5  # gradients have lengths around it
    private = learner(PrivateLearner, clip=clip, noise=0.0)
    weights = private.vector().astype(np.float64)
    private.begin(expected, stream([1]))
    told = private.train(pictures, labels, ORDER)
    cut = 0
    for read in ORDER:
        total = np.zeros_like(weights)
        for one in read:
            gradient = oracle.gradient(weights, pictures[one : one + 1], labels[one : one + 1])
            length = np.linalg.norm(gradient)
            cut += length > clip
            total += gradient / max(1, length / clip)
        weights -= RATE * total / expected
    np.testing.assert_allclose(private.vector(), weights, rtol=0, atol=AGREE)
    assert private.cut == (cut, 40)
    assert cut > 0
    assert told.count == 40


@pytest.mark.parametrize(("optimizer", "mu"), [("sgd", None), ("adam", None), ("sgd", 3.0)])
def test_without_noise_and_with_a_huge_clip_it_is_the_unprotected_learner(images, optimizer, mu):
    plain, private = learner(LocalLearner, optimizer, mu), learner(PrivateLearner, optimizer, mu, clip=1e9, noise=0.0)
    start = plain.vector()
    for one in (plain, private):
        one.load(start)
    private.begin(16.0, stream([1]))
    order = [np.arange(0, 16), np.arange(16, 32)]
    told = [one.train(*images, order) for one in (plain, private)]
    assert private.cut == (0, 32)
    same = np.ones(len(start), bool)
    if optimizer == "adam":  # it divides by the gradient's size: where that is nearly zero, rounding decides
        same = np.abs(oracle.gradient(start, images[0][:16], images[1][:16])) > 1e-5
        assert same.mean() > 0.8
    atol = AGREE if optimizer == "sgd" else 1e-4
    np.testing.assert_allclose(private.vector()[same], plain.vector()[same], rtol=0, atol=atol)
    assert told[1].values() == pytest.approx(told[0].values(), rel=1e-5)


def test_a_step_without_images_is_noise_of_the_size_asked_for(images):
    private = learner(PrivateLearner, clip=0.5, noise=3.0)
    start = private.vector()
    private.begin(10.0, stream([1]))
    private.train(*images, [np.arange(0)])
    moved = (private.vector() - start) / RATE
    assert moved.std() == pytest.approx(3.0 * 0.5 / 10, rel=0.01)  # of 101,770 values
    assert abs(moved.mean()) < 0.002


def test_a_network_that_mixes_the_images_of_a_batch_is_refused():
    keras = tensorflow().keras
    layers = [keras.layers.Input((28, 28, 1)), keras.layers.Flatten(), keras.layers.BatchNormalization()]
    model = keras.Sequential([*layers, keras.layers.Dense(10)])
    with pytest.raises(BadInput, match="batch normalisation mixes the images"):
        PrivateLearner(model, models.loss_of(model), models.correct, RATE, clip=1.0, noise=1.0)
