"""The division of an epoch among ranks that are lost and return: every example exactly once."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from workshop.engine.data import order
from workshop.workloads.elastic import network

SIZES = st.lists(st.integers(1, 9), min_size=1, max_size=40)


@given(st.integers(1, 500), st.integers(1, 40), SIZES, st.integers(0, 99))
def test_any_losses_and_returns_read_every_example_once(count: int, batch: int, sizes: list[int], seed: int) -> None:
    examples, cursor, step, read, spans = order(count, [seed, 3]), 0, 0, [], []
    while cursor < count:
        ranks = sizes[step % len(sizes)]  # at this step
        places = cursor, min(cursor + batch * ranks, count)
        parts = [network.part(places, ranks, rank) for rank in range(ranks)]
        lengths = [end - begin for begin, end in parts]
        assert max(lengths) - min(lengths) <= 1
        read += [int(example) for begin, end in parts for example in examples[begin:end]]
        cursor, step = places[1], step + 1
        spans.append(places)
    assert sorted(read) == list(range(count))
    assert network.count_reads(3, examples, spans) == {"epoch": 3, "read": count, "distinct": count}


@given(st.integers(1, 300), st.integers(1, 50), st.integers(0, 3), st.data())
def test_the_steps_that_remain(count: int, batch: int, epochs: int, data: st.DataObject) -> None:
    cursor = first = data.draw(st.integers(0, count))
    steps = 0
    while cursor < count:
        cursor, steps = min(cursor + batch, count), steps + 1
    whole = len(range(0, count, batch))
    assert network.steps_from(first, count, batch, epochs) == steps + epochs * whole


def test_a_step_that_is_read_twice_or_left_out_shows() -> None:
    examples = order(10, [0, 0])
    assert network.count_reads(0, examples, [(0, 4), (0, 4), (4, 10)]) == {"epoch": 0, "read": 14, "distinct": 10}
    assert network.count_reads(0, examples, [(0, 4), (6, 10)]) == {"epoch": 0, "read": 8, "distinct": 8}
