"""How often a step is compiled: for full batches, and once more for all others where there are such."""

from __future__ import annotations

import numpy as np
import pytest
from mpi4py import MPI

from workshop.engine.tensorflow import tensorflow
from workshop.engine.training.exchange import Exchange
from workshop.engine.training.step import supervised

pytestmark = pytest.mark.real


@pytest.mark.parametrize(
    ("uneven", "sizes", "compiled"),
    [
        (False, [8, 8, 8, 8], 1),
        (True, [8, 8, 8, 5, 8, 3], 2),
        (False, [8, 8, 5, 3], 2),  # nobody said that there would be: later than it should be, but right
    ],
)
def test_a_step_is_compiled_for_full_batches_and_once_for_others(uneven: bool, sizes: list[int], compiled: int) -> None:
    tf = tensorflow()
    model = tf.keras.Sequential([tf.keras.layers.Input((3,)), tf.keras.layers.Dense(2)])
    optimizer = tf.keras.optimizers.SGD(0.1)
    optimizer.build(model.trainable_variables)
    traced = []

    def loss(labels, outputs):
        traced.append(outputs.shape[0])
        return tf.nn.sparse_softmax_cross_entropy_with_logits(labels, outputs)

    def correct(labels, outputs):
        return tf.equal(tf.argmax(outputs, axis=-1, output_type=labels.dtype), labels)

    step = supervised(model, optimizer, loss, correct, Exchange(MPI.COMM_SELF), uneven)
    counts = []
    for size in sizes:
        told = step(tf.constant(np.ones((size, 3), np.float32)), tf.constant(np.zeros(size, np.int32)), 1 / size)
        assert np.isfinite(told).all()
        counts.append(len(traced))
    assert counts[-1] == compiled
    assert traced[0] == 8 and set(traced[1:]) <= {None}
    if uneven:
        assert counts[1:] == [2] * (len(sizes) - 1), "after the second step nothing is compiled"
