"""Noise belongs to examples: whoever draws it."""

from __future__ import annotations

import numpy as np
import pytest

from workshop.engine.tensorflow import tensorflow
from workshop.workloads.sgan.models import Noise

SHAPE = (5, 3)  # 15 numbers, which is no multiple of a block of the generator


def drawn(step, *groups, seed=7, what=3):
    tf = tensorflow()

    @tf.function(autograph=False)
    def draw(step, *firsts):
        noise = Noise(seed, step, [(first, count) for first, (_, count) in zip(firsts, groups, strict=True)])
        return noise.normal(what, SHAPE), noise.dropout(what + 1, SHAPE, 0.4)

    firsts = [tf.constant(first, tf.int64) for first, _ in groups]
    return [one.numpy() for one in draw(tf.constant(step, tf.int64), *firsts)]


def test_ranks_draw_what_one_process_draws_for_all_examples():
    for whole, one, other in zip(drawn(9, (0, 300)), drawn(9, (0, 100)), drawn(9, (100, 200)), strict=True):
        np.testing.assert_array_equal(whole, np.concatenate([one, other]))


def test_every_step_group_seed_and_draw_has_noise_of_its_own():
    base = drawn(9, (0, 50))[0]
    two = drawn(9, (0, 50), (0, 50))[0]
    np.testing.assert_array_equal(two[:50], base)
    for other in (two[50:], drawn(10, (0, 50))[0], drawn(9, (0, 50), seed=8)[0], drawn(9, (0, 50), what=4)[0]):
        assert abs(np.corrcoef(base.ravel(), other.ravel())[0, 1]) < 0.15


def test_it_is_distributed_as_it_should_be():
    normal, kept = drawn(1, (0, 4000))
    assert normal.mean() == pytest.approx(0, abs=0.02)
    assert normal.std() == pytest.approx(1, abs=0.02)
    assert set(np.unique(kept)) == {0, np.float32(1 / 0.6)}
    assert (kept == 0).mean() == pytest.approx(0.4, abs=0.02)
