"""Recomputation and mixed precision, in one process."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from workshop.workloads.parallel.cuts.precision import LossScale, as_bfloat16
from workshop.workloads.parallel.cuts.recompute import recomputed
from workshop.workloads.parallel.network import networks
from workshop.workloads.parallel.network.layers import Draw, Sequential, cross_entropy
from workshop.workloads.parallel.network.networks import TransformerShape
from workshop.workloads.parallel.optimizer import Adam, Update

SHAPE = TransformerShape(vocabulary=7, length=4, width=8, heads=2, blocks=2)
STREAM = np.random.default_rng(1)
INPUTS, TARGETS = STREAM.integers(0, 7, (2, 6, 4))


def test_what_is_computed_again_is_the_same() -> None:
    plain = Sequential(networks.transformer(SHAPE, Draw(5)))
    twice = Sequential(recomputed(networks.transformer(SHAPE, Draw(5))))
    for network in (plain, twice):
        scores, saved = network.forward(INPUTS)
        network.backward(cross_entropy(scores, TARGETS, TARGETS.size)[1], saved)
    for parameter, same in zip(plain.parameters, twice.parameters, strict=True):
        assert np.array_equal(parameter.gradient, same.gradient), parameter


def test_half_precision_with_master_weights_learns_like_single() -> None:
    losses = {}
    for precision, dtype in (("float32", np.float32), ("float16", np.float16)):
        network = Sequential(networks.transformer(SHAPE, Draw(5, dtype)))
        update = Update(network.parameters, Adam(0.001), precision)
        for _ in range(80):
            scores, saved = network.forward(INPUTS)
            losses[precision], gradient = cross_entropy(scores.astype(np.float32), TARGETS, TARGETS.size)
            update.clear()
            network.backward((gradient * np.float32(update.scale.value)).astype(dtype), saved)
            update.step(update.finite())
        assert network.parameters[0].value.dtype == dtype
    assert losses["float16"] == pytest.approx(losses["float32"], rel=0.25)
    assert losses["float32"] < 0.95 * np.log(7)


def test_a_gradient_that_is_no_number_is_left_out() -> None:
    network = Sequential(networks.perceptron([2, 2], Draw(1, np.float16)))
    update = Update(network.parameters, Adam(0.001), "float16")
    before, scale = update.weights.copy(), update.scale.value
    update.gradients[0] = np.inf
    update.step(update.finite())
    assert (update.scale.value, update.scale.skipped) == (scale / 2, 1)
    assert np.array_equal(update.weights, before)


def test_the_scale_of_the_loss_grows_again() -> None:
    scale = LossScale("float16")
    begin = scale.value
    assert all(scale.judge(True) for _ in range(200))
    assert scale.value == 2 * begin


@given(st.floats(width=32, allow_nan=False, allow_infinity=False, min_value=-(2.0**100), max_value=2.0**100))
def test_bfloat16_is_the_nearest_value_with_eight_bits(value: float) -> None:
    (rounded,) = as_bfloat16(np.array([value], np.float32))
    assert np.array([rounded]).view(np.uint32)[0] & 0xFFFF == 0
    assert abs(float(rounded) - value) <= abs(value) * 2**-8 or abs(value) < 1e-37
