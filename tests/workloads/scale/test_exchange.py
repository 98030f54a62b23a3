"""Formulas of all-reduces against a discrete simulation of their messages, and the messages against sums."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from workshop.workloads.scale.exchange import (
    ALGORITHMS,
    Algorithm,
    Network,
    NetworkLink,
    Rounds,
    Simulation,
    exchange_seconds,
    rounds,
)

LINKS = st.builds(NetworkLink, st.floats(1e-6, 1e-2), st.floats(1e6, 1e10))
SIZES = st.floats(4, 1e9)


def ratio(algorithm: Algorithm, ranks: int, size: float, network: Network, servers: int) -> float:
    """The formula's time over the simulated one."""
    simulation = Simulation(ranks, network, algorithm, servers)
    simulated = simulation.exchange(np.zeros(ranks), size).max()
    return exchange_seconds(algorithm, ranks, size, network, servers) / float(simulated)


def carry_out(chunks: int, steps: Rounds, arrays: list[NDArray[np.float64]]) -> None:
    """Send the messages among arrays, in place."""
    edges = [len(arrays[0]) * number // chunks for number in range(chunks + 1)]
    for messages in steps:
        sent = [arrays[step.source][edges[step.begin] : edges[step.end]].copy() for step in messages]
        for step, values in zip(messages, sent, strict=True):
            place = arrays[step.destination][edges[step.begin] : edges[step.end]]
            place[:] = place + values if step.add else values


@given(st.sampled_from(ALGORITHMS), st.integers(1, 17), st.integers(0, 5), st.data())
def test_messages_leave_the_sum_on_each_rank(
    algorithm: Algorithm, ranks: int, per_host: int, data: st.DataObject
) -> None:
    servers = data.draw(st.integers(1, ranks))
    stream = np.random.default_rng(ranks)
    arrays = [stream.integers(0, 9, 23).astype(float) for _ in range(ranks)]
    total = np.sum(arrays, axis=0)
    carry_out(*rounds(algorithm, ranks, per_host, servers), arrays)
    assert all(np.array_equal(values, total) for values in arrays)


@given(st.sampled_from(ALGORITHMS), st.sampled_from([2, 4, 8, 16]), st.sampled_from([0, 1, 2, 4]), LINKS, SIZES)
def test_formulas_are_exact_for_powers_of_two(
    algorithm: Algorithm, ranks: int, per_host: int, link: NetworkLink, size: float
) -> None:
    inside = NetworkLink(link.latency / 10, link.bandwidth * 10)
    network = Network(inside, link, per_host)
    assert ratio(algorithm, ranks, size, network, 1) == pytest.approx(1, rel=0.1 if per_host > 1 else 0.01)


@given(st.sampled_from(ALGORITHMS), st.integers(2, 17), LINKS, SIZES, st.data())
def test_formulas_hold_for_any_number_of_ranks(
    algorithm: Algorithm, ranks: int, link: NetworkLink, size: float, data: st.DataObject
) -> None:
    servers = data.draw(st.integers(1, ranks))
    assert (
        0.99 <= ratio(algorithm, ranks, size, Network(link, link), servers) <= 2.01
    )  # three ranks: a tree sends early


def test_the_ring_wins_for_large_messages_and_the_tree_for_small_ones() -> None:
    network = Network(NetworkLink(1e-4, 1e9), NetworkLink(1e-4, 1e9))
    seconds = {size: {name: exchange_seconds(name, 64, size, network) for name in ALGORITHMS} for size in (100, 1e9)}
    assert min(seconds[1e9], key=seconds[1e9].__getitem__) == "ring"
    assert min(seconds[100], key=seconds[100].__getitem__) in ("recursive-doubling", "servers")


@given(st.sampled_from(ALGORITHMS), st.sampled_from([2, 4, 8]), st.sampled_from([2, 4]), LINKS)
def test_ranks_that_share_a_link_wait_for_each_other(
    algorithm: Algorithm, hosts: int, per_host: int, link: NetworkLink
) -> None:
    network = Network(NetworkLink(1e-9, 1e15), link, per_host, shared=True)
    servers = per_host if algorithm == "servers" else 1
    ranks, size = hosts * per_host, 1e9 * link.bandwidth  # latencies don't matter
    together = ratio(algorithm, ranks, size, network, servers)
    assert together == pytest.approx(1, rel=0.1)
    apart = exchange_seconds(algorithm, ranks, size, replace(network, shared=False), servers)
    slower = exchange_seconds(algorithm, ranks, size, network, servers) / apart
    assert slower == pytest.approx(per_host if algorithm in ("recursive-doubling", "servers") else 1, rel=0.01)
