"""The memory that is planned against the arrays that are kept."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from workshop.workloads.parallel.cuts.recompute import recomputed
from workshop.workloads.parallel.network import networks
from workshop.workloads.parallel.network.layers import Draw, Sequential, buffers
from workshop.workloads.parallel.network.networks import TransformerShape


@settings(deadline=None, max_examples=30)
@given(
    batch=st.integers(1, 5),
    length=st.integers(1, 6),
    heads=st.integers(1, 4),
    blocks=st.integers(1, 3),
    single=st.booleans(),
)
def test_a_transformer_keeps_what_is_planned(batch: int, length: int, heads: int, blocks: int, single: bool) -> None:
    shape = TransformerShape(vocabulary=9, length=length, width=4 * heads, heads=heads, blocks=blocks)
    dtype = np.float32 if single else np.float64
    network = Sequential(networks.transformer(shape, Draw(1, dtype)))
    _, saved = network.forward(np.zeros((batch, length), np.int64))
    cost = network.cost((batch, length), np.dtype(dtype).itemsize)
    assert cost.activations == pytest.approx(buffers(saved), rel=0.05)
    assert cost.outputs == (batch, length, 9)


def test_a_convolutional_network_and_a_perceptron_keep_what_is_planned() -> None:
    for network, inputs in (
        (networks.convolutional([2, 4, 6], 3, Draw(1)), np.zeros((3, 8, 6, 2))),
        (networks.perceptron([6, 8, 4], Draw(1)), np.zeros((5, 6))),
    ):
        _, saved = Sequential(network).forward(inputs)
        assert Sequential(network).cost(inputs.shape, 8).activations == pytest.approx(buffers(saved), rel=0.05)


def test_recomputing_keeps_the_inputs_alone() -> None:
    shape = TransformerShape(vocabulary=9, length=8, width=8, heads=2, blocks=2)
    layers = networks.transformer(shape, Draw(1))
    activations = Sequential(recomputed(layers))
    inputs = np.zeros((4, 8), np.int64)
    _, saved = activations.forward(inputs)
    cost = activations.cost(inputs.shape, 8)
    assert cost.activations == pytest.approx(buffers(saved), rel=0.05)
    assert cost.activations < 0.3 * Sequential(layers).cost(inputs.shape, 8).activations
    assert cost.transient > 0
