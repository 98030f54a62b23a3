"""Gradients that are written out against differences of losses, for every layer and network."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest

from workshop.workloads.parallel.network import networks
from workshop.workloads.parallel.network.layers import Array, Draw, Layer, Sequential, cross_entropy
from workshop.workloads.parallel.network.networks import TransformerShape

DRAW = Draw(3)
STREAM = np.random.default_rng(7)
SHAPE = TransformerShape(vocabulary=11, length=5, width=8, heads=2, blocks=2)
NETWORKS: dict[str, tuple[Sequence[Layer], Array, Array]] = {
    "transformer": (networks.transformer(SHAPE, DRAW), STREAM.integers(0, 11, (3, 5)), STREAM.integers(0, 11, (3, 5))),
    "perceptron": (networks.perceptron([6, 7, 4], DRAW), STREAM.standard_normal((5, 6)), STREAM.integers(0, 4, 5)),
    "convolutional": (
        networks.convolutional([2, 3, 4], 5, DRAW),
        STREAM.standard_normal((2, 6, 5, 2)),
        STREAM.integers(0, 5, 2),
    ),
}
STEP = 1e-6


def loss_of(network: Sequential, inputs: Array, targets: Array) -> float:
    scores, _ = network.forward(inputs)
    return cross_entropy(scores, targets, targets.size)[0]


@pytest.mark.parametrize("name", NETWORKS)
def test_gradients_are_differences_of_the_loss(name: str) -> None:
    layers, inputs, targets = NETWORKS[name]
    network = Sequential(layers)
    scores, saved = network.forward(inputs)
    _, gradient = cross_entropy(scores, targets, targets.size)
    of_inputs = network.backward(gradient, saved)
    for parameter in network.parameters:
        for place in STREAM.permutation(parameter.value.size)[:6]:
            value = parameter.value.flat[place]
            losses = []
            for change in (STEP, -STEP):
                parameter.value.flat[place] = value + change
                losses.append(loss_of(network, inputs, targets))
            parameter.value.flat[place] = value
            measured = (losses[0] - losses[1]) / (2 * STEP)
            assert parameter.gradient.flat[place] == pytest.approx(measured, rel=1e-5, abs=1e-8), (parameter, place)
    if np.issubdtype(inputs.dtype, np.floating):
        place = (0,) * inputs.ndim
        moved = inputs.copy()
        moved[place] += STEP
        up = loss_of(network, moved, targets)
        moved[place] -= 2 * STEP
        assert of_inputs[place] == pytest.approx(
            (up - loss_of(network, moved, targets)) / (2 * STEP), rel=1e-5, abs=1e-8
        )


def test_the_bias_of_keys_has_no_gradient() -> None:
    """Also with several micro-batches, and when the work for gradients is done later."""
    network = Sequential(networks.transformer(SHAPE, DRAW))
    inputs, targets = NETWORKS["transformer"][1:]
    for later in (False, True):
        work: list[Callable[[], None]] = []
        for parameter in network.parameters:
            parameter.pending = work if later else None
        scores, saved = network.forward(inputs)
        network.backward(cross_entropy(scores, targets, targets.size)[1], saved)
        for addition in work:
            addition()
        biases = [parameter for parameter in network.parameters if parameter.name.endswith("attention.inner.bias")]
        for bias in biases:
            queries, keys, values = bias.gradient.reshape(SHAPE.heads, 3, -1).transpose(1, 0, 2)
            assert not keys.any() and queries.all() and values.all()
        assert len(biases) == SHAPE.blocks
