"""Recomputation and mixed precision, in one process."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from workshop.workloads.parallel.cuts.precision import MixedUpdate, as_bfloat16
from workshop.workloads.parallel.cuts.recompute import Recomputed
from workshop.workloads.parallel.network import networks
from workshop.workloads.parallel.network.layers import Draw, Sequential, cross_entropy
from workshop.workloads.parallel.network.networks import TransformerShape
from workshop.workloads.parallel.optimizer import Sgd

SHAPE = TransformerShape(vocabulary=7, length=4, width=8, heads=2, blocks=2)
STREAM = np.random.default_rng(1)
INPUTS, TARGETS = STREAM.integers(0, 7, (2, 6, 4))


def test_what_is_computed_again_is_the_same() -> None:
    plain = Sequential(networks.transformer(SHAPE, Draw(5)))
    layers = networks.transformer(SHAPE, Draw(5))
    again = Sequential([layers[0], Recomputed(layers[1:3]), Recomputed(layers[3:5]), *layers[5:]])
    for network in (plain, again):
        scores, saved = network.forward(INPUTS)
        network.backward(cross_entropy(scores, TARGETS, TARGETS.size)[1], saved)
    for one, other in zip(plain.parameters, again.parameters, strict=True):
        assert np.array_equal(one.gradient, other.gradient), one


def test_half_precision_with_master_weights_learns_like_single() -> None:
    losses = {}
    for dtype in (np.float32, np.float16):
        network = Sequential(networks.transformer(SHAPE, Draw(5, dtype)))
        update = MixedUpdate(network.parameters, Sgd(0.1))
        if dtype == np.float32:
            update.scale = 1.0
        for _ in range(80):
            scores, saved = network.forward(INPUTS)
            losses[dtype], gradient = cross_entropy(scores.astype(np.float32), TARGETS, TARGETS.size)
            for parameter in network.parameters:
                parameter.gradient[...] = 0
            network.backward((gradient * np.float32(update.scale)).astype(dtype), saved)
            update.step()
        assert network.parameters[0].value.dtype == dtype
    assert losses[np.float16] == pytest.approx(losses[np.float32], rel=0.25)
    assert losses[np.float32] < 0.95 * np.log(7)


def test_a_gradient_that_is_no_number_is_left_out() -> None:
    network = Sequential(networks.perceptron([2, 2], Draw(1, np.float16)))
    update = MixedUpdate(network.parameters, Sgd(0.1))
    before, scale = network.parameters[0].value.copy(), update.scale
    network.parameters[0].gradient[0, 0] = np.inf
    assert not update.step()
    assert (update.scale, update.skipped) == (scale / 2, 1)
    assert np.array_equal(network.parameters[0].value, before)


@given(st.floats(width=32, allow_nan=False, allow_infinity=False, min_value=-(2.0**100), max_value=2.0**100))
def test_bfloat16_is_the_nearest_value_with_eight_bits(value: float) -> None:
    (rounded,) = as_bfloat16(np.array([value], np.float32))
    assert np.array([rounded]).view(np.uint32)[0] & 0xFFFF == 0
    assert abs(float(rounded) - value) <= abs(value) * 2**-8 or abs(value) < 1e-37
