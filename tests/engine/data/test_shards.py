"""Shards: disjoint, complete, even, and the same for the same seed."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from workshop.engine.data import order, shard, shard_indices

COUNTS, SIZES, SEEDS = st.integers(0, 3000), st.integers(1, 40), st.integers(0, 2**31 - 1)


@settings(deadline=None)
@given(count=st.integers(0, 10**9), size=st.integers(1, 300))
def test_shards_are_contiguous_and_even(count, size):
    shards = [shard(count, size, rank) for rank in range(size)]
    assert shards[0][0] == 0
    assert shards[-1][1] == count
    assert all(end == begin for (_, end), (begin, _) in pairwise(shards))
    sizes = [end - begin for begin, end in shards]
    assert max(sizes) - min(sizes) <= 1
    assert min(sizes) > 0 or count < size


@settings(deadline=None)
@given(COUNTS, SIZES, SEEDS)
def test_shuffled_shards_are_the_shares_of_one_order(count, size, seed):
    shards = [shard_indices(count, size, rank, seed) for rank in range(size)]
    np.testing.assert_array_equal(np.concatenate(shards), order(count, seed))


def test_the_order_is_the_same_on_every_machine():
    assert order(12, 0).tolist() == [11, 3, 2, 1, 8, 6, 0, 7, 4, 10, 5, 9]
    assert order(12, [7, 3]).tolist() == [11, 2, 10, 4, 7, 3, 5, 1, 8, 9, 0, 6]
