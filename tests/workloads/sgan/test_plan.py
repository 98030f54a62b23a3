"""Which images have labels, and what ranks read: whatever their number, together the same."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from workshop.workloads.sgan import SganParams
from workshop.workloads.sgan.plan import ImageOrder, due, plan

LABELS = np.random.default_rng(3).integers(0, 10, 500)


def test_each_digit_has_as_many_labelled_images_and_the_seed_decides_which():
    one, other, again = (plan(SganParams(labels=7, seed=seed), LABELS, 2) for seed in (0, 1, 0))
    for made in (one, other):
        assert np.bincount(LABELS[made.labelled]).tolist() == [7] * 10
        assert sorted([*made.labelled, *made.unlabelled]) == list(range(500))
    assert set(one.labelled) != set(other.labelled)
    assert one.labelled.tolist() == again.labelled.tolist()


@given(st.integers(1, 40), st.integers(1, 8), st.integers(1, 5), st.integers(1, 12))
@settings(deadline=None)
def test_ranks_together_read_what_one_reads_with_a_larger_batch(count, batch, size, steps):
    several, one = ImageOrder(count, batch, size, (5,)), ImageOrder(count, batch * size, 1, (5,))
    read = []
    for step in range(steps):
        together = np.concatenate([several.take(step, rank) for rank in range(size)])
        assert together.tolist() == one.take(step, 0).tolist()
        read += together.tolist()
    # Nothing is read a second time before everything was read once.
    for begin in range(0, len(read) - count + 1, count):
        assert sorted(read[begin : begin + count]) == list(range(count))


def test_labelled_and_unlabelled_images_of_a_step_are_what_they_are_called():
    made = plan(SganParams(labels=7, batch=20), LABELS, 2)
    labelled, unlabelled = made.take(11, 1)
    assert (len(labelled), len(unlabelled)) == (10, 20)
    assert set(labelled) <= set(made.labelled) and set(unlabelled) <= set(made.unlabelled)
    alone = plan(SganParams(labels=7, batch=20, method="supervised"), LABELS, 2)
    assert alone.take(11, 1)[0].tolist() == labelled.tolist()
    assert len(alone.take(11, 1)[1]) == 0


@pytest.mark.parametrize(
    ("unit", "ranks", "expected"),
    [
        ("iterations", 1, [15, 30, 45]),
        ("iterations", 4, [15, 30, 45]),
        ("images", 1, [15, 30, 45]),
        ("images", 2, [8, 15, 23, 30, 38, 45]),
        ("images", 4, [4, 8, 12, 15, 19, 23, 27, 30, 34, 38, 42, 45]),
    ],
)
def test_evaluations_are_due_by_iterations_or_by_images(unit, ranks, expected):
    found = [0]
    while found[-1] < 45:
        found.append(due(found[-1], 15, unit, ranks))
    assert found[1:] == expected


@given(st.integers(0, 1000), st.integers(1, 50), st.integers(1, 64))
def test_the_next_evaluation_is_always_ahead(done, every, ranks):
    assert due(done, every, "images", ranks) > done
