"""Attention gates and dropout: what they add to the network, and when they act."""

from __future__ import annotations

import numpy as np
import pytest

from workshop.engine.tensorflow import tensorflow
from workshop.workloads.segmentation import overlap
from workshop.workloads.unet import WORKLOAD
from workshop.workloads.unet.run import network

SMALL = {"size": 32}
IMAGES = np.random.default_rng(0).random((3, 32, 32, 2), np.float32)


def net(**values):
    tensorflow().keras.utils.set_random_seed(0)
    return network(WORKLOAD.check(SMALL | values))


def test_gates_add_the_weights_of_their_three_convolutions():
    # Of each level: 2x2 on what is handed across, 1x1 with bias on the coarser level, and 1x1 with bias to one value.
    added = sum(4 * width * width + (2 * width * width + width) + (width + 1) for width in (8, 16, 32))
    assert net(attention=True).count_params() == net().count_params() + added


def test_a_closed_gate_hands_nothing_across():
    """Where the bias of every gate is far below 0, its values are 0."""
    model = net(attention=True)
    convolutions = [layer for layer in model.layers if getattr(layer, "activation", None) is not None]
    gates = [layer for layer in convolutions if layer.activation is tensorflow().keras.activations.sigmoid]
    assert len(gates) == 3
    before = model(IMAGES).numpy()
    for layer in gates:
        layer.bias.assign([-100.0])
    skips = [layer for layer in model.layers if type(layer).__name__ == "Multiply"]
    handed = tensorflow().keras.Model(model.input, [layer.output for layer in skips])(IMAGES)
    assert all(np.abs(values.numpy()).max() < 1e-20 for values in handed)
    assert np.abs(model(IMAGES).numpy() - before).max() > 1e-3


def test_dropout_acts_in_training_alone_and_adds_no_weights():
    plain, model = net(), net(dropout="0.5")
    assert model.count_params() == plain.count_params()
    model.set_weights(plain.get_weights())
    np.testing.assert_array_equal(model(IMAGES, training=False), plain(IMAGES, training=False))
    first, second = (model(IMAGES, training=True).numpy() for _ in range(2))
    assert np.abs(first - second).max() > 1e-3
    np.testing.assert_array_equal(plain(IMAGES, training=True), plain(IMAGES, training=True))


@pytest.mark.parametrize(("dropout", "rates"), [("0,0,0.1,0.2", [0.1, 0.2, 0.1]), ("0.3,0,0,0", [0.3, 0.3])])
def test_each_level_has_a_rate_on_its_way_down_and_up(dropout, rates):
    keras = tensorflow().keras
    assert [layer.rate for layer in net(dropout=dropout).layers if isinstance(layer, keras.layers.Dropout)] == rates


def test_the_cross_entropy_is_the_mean_of_all_pixels():
    stream = np.random.default_rng(1)
    logits = stream.normal(size=(3, 8, 8, 1)).astype(np.float32)
    masks = (stream.random((3, 8, 8, 1)) < 0.3).astype(np.float32)
    likely = 1 / (1 + np.exp(-logits.astype(np.float64)))
    expected = -(masks * np.log(likely) + (1 - masks) * np.log(1 - likely)).mean(axis=(1, 2, 3))
    np.testing.assert_allclose(overlap.loss_of("cross-entropy", 0, 0)(masks, logits), expected, rtol=1e-5)
