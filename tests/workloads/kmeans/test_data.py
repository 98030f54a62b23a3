"""Points: the same for every number of ranks."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from workshop.engine.data import shard
from workshop.workloads.kmeans.data import Blobs, Pixels


@settings(max_examples=25, deadline=None)
@given(size=st.integers(1, 30_000), ranks=st.integers(1, 7), seed=st.integers(0, 1000))
def test_blobs_do_not_depend_on_who_reads_them(size, ranks, seed):
    whole = Blobs(size, 2, 4, seed, "float32").read(0, size)
    source = Blobs(size, 2, 4, seed, "float32")
    parts = [source.read(*shard(size, ranks, rank)) for rank in range(ranks)]
    np.testing.assert_array_equal(whole, np.concatenate(parts))


def test_a_stream_of_pixels_brings_every_pixel_once():
    photo = np.arange(5 * 7 * 3, dtype=np.uint8).reshape(5, 7, 3)
    ordered = Pixels(photo, "float32").read(0, 35)
    np.testing.assert_array_equal(ordered, photo.reshape(-1, 3))
    stream = Pixels(photo, "float32", shuffle=3)
    shuffled = np.concatenate([stream.read(0, 11), stream.read(11, 35)])
    assert not np.array_equal(ordered, shuffled)
    np.testing.assert_array_equal(np.sort(ordered[:, 0]), np.sort(shuffled[:, 0]))
