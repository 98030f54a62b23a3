"""Random numbers of examples, drawn from a seed, the step and the example's number among the examples of all ranks. So
all ranks together draw the same numbers as one process with the union of their batches.

The generator is Philox (Salmon et al., Parallel random numbers: as easy as 1, 2, 3, SC 2011). Its n-th block of four
numbers is a function of a key and n. The example's number determines the first block of an example.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from workshop.engine.tensorflow import tensorflow

PHILOX = 1  # TensorFlow's number for the algorithm
BLOCK = 4  # numbers that one value of the counter gives
DRAWS, GROUPS = 64, 4  # at most, of a step


class Noise:
    """The noise of one step. Each draw has a number, `what`, below 64.

    `groups` has a pair for each kind of examples in this rank's step: the number of the first example among the
    examples of all ranks, which may be a tensor (int64), and the number of examples. `step` may be a tensor, too. Use
    it inside a `tf.function`.
    """

    def __init__(self, seed: int, step: Any, groups: Sequence[tuple[Any, int]]) -> None:
        self.tf = tensorflow()
        self.seed, self.step, self.groups = seed, step, groups

    def normal(self, what: int, shape: Sequence[int]) -> Any:
        """Standard normal numbers, float32 [examples of all groups, *shape]."""
        return self._draw(self.tf.raw_ops.StatelessRandomNormalV2, what, shape)

    def dropout(self, what: int, shape: Sequence[int], rate: float) -> Any:
        """0 with probability `rate`, else 1 / (1 - rate), of the same shape: the factors of dropout."""
        uniform = self._draw(self.tf.raw_ops.StatelessRandomUniformV2, what, shape)
        return self.tf.cast(uniform >= rate, self.tf.float32) / (1 - rate)

    def _draw(self, operation: Any, what: int, shape: Sequence[int]) -> Any:
        tf, size = self.tf, math.prod(shape)
        blocks = -(-size // BLOCK)  # of one example
        parts = []
        for group, (first, count) in enumerate(self.groups):
            stream = tf.constant((self.seed * DRAWS + what) * GROUPS + group, tf.int64)
            key, counter = tf.raw_ops.StatelessRandomGetKeyCounter(
                seed=tf.stack([stream, tf.cast(self.step, tf.int64)])
            )
            ahead = tf.cast(tf.cast(first, tf.int64) * blocks, tf.uint64)
            counter += tf.stack([ahead, tf.constant(0, tf.uint64)])
            values = operation(shape=[count, blocks * BLOCK], key=key, counter=counter, alg=PHILOX, dtype=tf.float32)
            parts.append(tf.reshape(values[:, :size], [count, *shape]))
        return tf.concat(parts, axis=0) if len(parts) > 1 else parts[0]
