"""The memory that is planned against the arrays that are kept."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from workshop.workloads.parallel import memory
from workshop.workloads.parallel.cuts.recompute import Recomputed
from workshop.workloads.parallel.network import networks
from workshop.workloads.parallel.network.layers import Draw, Sequential
from workshop.workloads.parallel.network.networks import TransformerShape
from workshop.workloads.parallel.schedules import SCHEDULES


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
    planned, outputs = memory.activations(network.layers, (batch, length), np.dtype(dtype).itemsize)
    assert planned == pytest.approx(memory.counted(saved), rel=0.05)
    assert outputs == (batch, length, 9)


def test_a_convolutional_network_and_a_perceptron_keep_what_is_planned() -> None:
    for network, inputs in (
        (networks.convolutional([2, 4, 6], 3, Draw(1)), np.zeros((3, 8, 6, 2))),
        (networks.perceptron([6, 8, 4], Draw(1)), np.zeros((5, 6))),
    ):
        _, saved = Sequential(network).forward(inputs)
        assert memory.activations(network, inputs.shape, 8)[0] == pytest.approx(memory.counted(saved), rel=0.05)


def test_recomputing_keeps_the_inputs_alone() -> None:
    shape = TransformerShape(vocabulary=9, length=8, width=8, heads=2, blocks=2)
    layers = networks.transformer(shape, Draw(1))
    again = [layers[0], Recomputed(layers[1:5]), *layers[5:]]
    inputs = np.zeros((4, 8), np.int64)
    _, saved = Sequential(again).forward(inputs)
    planned = memory.activations(again, inputs.shape, 8)[0]
    assert planned == pytest.approx(memory.counted(saved), rel=0.05)
    assert planned < 0.3 * memory.activations(layers, inputs.shape, 8)[0]


def test_schedules_differ_in_what_a_stage_keeps() -> None:
    assert memory.in_flight(SCHEDULES["gpipe"](4, 8)[0]) == {0: 8}
    assert [memory.in_flight(SCHEDULES["1f1b"](4, 8)[stage])[stage] for stage in range(4)] == [4, 3, 2, 1]


@pytest.mark.parametrize(
    ("zero", "divided"), [(0, (80, 80, 160)), (1, (80, 80, 48)), (2, (80, 24, 48)), (3, (24, 24, 48))]
)
def test_zero_divides_one_thing_more_with_each_stage(zero: int, divided: tuple[int, int, int]) -> None:
    part = {0: Sequential(networks.perceptron([4, 2], Draw(1)))}  # 10 weights of 8 bytes; a quarter is 3, with padding
    stream = SCHEDULES["gpipe"](1, 1)[0]
    ledger = memory.planned(part, {0: (3, 4)}, 8, stream, states=2, zero=zero, ranks=4)
    assert (ledger.weights, ledger.gradients, ledger.optimizer) == divided
    assert ledger.activations == 3 * 4 * 8 and ledger.total == sum(divided) + 96
