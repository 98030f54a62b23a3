"""Which examples every rank reads."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from workshop.core.errors import BadInput
from workshop.engine.training.batches import Batches


@st.composite
def batches(draw, **fixed):
    size = draw(st.integers(1, 6))
    count = draw(st.integers(size, 200))
    batch = draw(st.integers(1, count // size))
    return Batches(count, size, batch, draw(st.integers(0, 99)), **fixed)


def read(of, epoch):
    return [of.examples(rank)[of.epoch(epoch, rank)] for rank in range(of.size)]


@given(batches())
def test_an_epoch_reads_every_example_once(of):
    together = np.concatenate(read(of, 3))
    assert sorted(together) == list(range(of.count))
    assert of.distinct(3) == of.count


@given(batches(), st.booleans(), st.booleans())
def test_steps_read_as_much_as_they_say(of, shard, divide):
    of = Batches(of.count, of.size, of.batch, of.seed, shard, divide)
    orders = read(of, 0)
    counts = [sum(len(order[step * of.batch : (step + 1) * of.batch]) for order in orders) for step in range(of.steps)]
    assert of.together().tolist() == counts
    assert min(counts) > 0
    assert sum(counts) == sum(of.reads(rank) for rank in range(of.size)) == sum(map(len, orders))


@given(batches(divide=False))
def test_without_divided_steps_every_rank_takes_the_steps_of_one(of):
    assert of.steps == Batches(of.count, 1, of.batch, of.seed).steps
    assert of.distinct(0) == of.count


@given(batches())
def test_epochs_differ_and_come_again(of):
    assert all(np.array_equal(*pair) for pair in zip(read(of, 2), read(of, 2), strict=True))
    if of.count // of.size > 20:
        assert not np.array_equal(read(of, 2)[0], read(of, 3)[0])


@pytest.mark.parametrize(
    ("count", "size", "batch", "words"),
    [
        (100, 2, 51, "batch is 51, but of the 100 examples a rank's share is only 50; take a batch of at most 50"),
        (3, 4, 1, "4 ranks can't share 3 examples; take at most 3 ranks."),
    ],
)
def test_what_can_not_be_dealt_out_is_refused(count, size, batch, words):
    with pytest.raises(BadInput) as refused:
        Batches(count, size, batch, 0)
    assert words in str(refused.value)


def test_a_rank_reads_no_image_twice_in_a_batch_also_with_undivided_steps():
    with pytest.raises(BadInput, match="a rank's share is only 50"):
        Batches(100, 2, 51, 0, divide=False)
    assert Batches(100, 2, 51, 0, shard=False, divide=False).steps == 2
