"""Compressed vectors: what a format loses in a step comes back in later ones."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from mpi4py import MPI

from workshop.engine.training.compression import BLOCK, FORMATS, LargestValues, ShortFormat, compression

pytestmark = pytest.mark.real  # MPI starts

SHORT = [name for name in FORMATS if name != "none"]
values = st.floats(-100, 100, width=32, allow_subnormal=False)
vectors = st.integers(1, 600).flatmap(lambda size: arrays(np.float32, (3, size), elements=values))


@given(vectors, st.sampled_from(SHORT))
def test_nothing_is_lost_for_good(steps, name):
    codec = compression(name, 0.1)
    averages = [codec.average(MPI.COMM_SELF, vector.copy(), 0) for vector in steps]
    lost = codec._lost[0]
    pending = sum(part.reshape(-1)[: steps.shape[1]] for part in (lost if isinstance(lost, tuple) else (lost,)))
    np.testing.assert_allclose(np.sum(averages, axis=0) + pending, steps.sum(axis=0), atol=1e-3)


@given(arrays(np.float32, (2, 2 * BLOCK), elements=values))
def test_int8_errs_by_half_a_step_of_its_scale_at_most(rows):
    codec = ShortFormat("8bit")
    code = codec.encode(rows)
    assert code.nbytes == codec.bytes(rows.size)
    scales = np.abs(rows.reshape(2, 2, BLOCK)).max(axis=2, keepdims=True) / 127
    error = np.abs(codec.decode(code) - rows).reshape(2, 2, BLOCK)
    assert (error <= scales * (0.5 + 1e-3) + 1e-30).all()


@given(arrays(np.float32, (1, BLOCK), elements=values), st.sampled_from(["float16", "bfloat16"]))
def test_short_floats_round_to_the_nearest(rows, name):
    bits = {"float16": 11, "bfloat16": 8}[name]  # of the mantissa, with the hidden one
    error = np.abs(ShortFormat(name).decode(ShortFormat(name).encode(rows)) - rows)
    assert (error <= np.abs(rows) * 2.0**-bits + 2.0**-25).all()  # below 2^-14 float16 has fixed steps


def test_top_k_sends_the_largest_and_keeps_the_rest():
    codec = LargestValues(0.5)
    assert codec.average(MPI.COMM_SELF, np.float32([1, -4, 3, 2]), 0).tolist() == [0, -4, 3, 0]
    assert codec.average(MPI.COMM_SELF, np.float32([5, 0, 0, 0]), 0).tolist() == [6, 0, 0, 2]
    assert codec.bytes(4) == 16


def test_a_gradient_that_is_no_number_stays_one():
    for name in ("float16", "bfloat16", "8bit"):
        average = compression(name, 0.1).average(MPI.COMM_SELF, np.float32([1, np.nan]), 0)
        assert np.isnan(average[1]), name
