"""Sums and collectives against NumPy on real ranks, the messages of ordered algorithms, and the workload's metrics."""

from __future__ import annotations

import os
from unittest import mock

import pytest

from tests.ranks import by_ranks, run_ranks
from tests.support import need, starts_processes
from workshop.mpi import horovod
from workshop.workloads.allreduce import COLLECTIVES, COUNTED, PAIRS

pytestmark = pytest.mark.real
METHODS = ("ring", "own", "parameter-server")
SIZES = {"methods": [4, 16, 64, 256, 1024, 4096, 16384, 65536], "operations": [4, 16, 20]}


@pytest.fixture(scope="module", params=by_ranks(2, 3))
@starts_processes
def result(request):
    with mock.patch.dict(os.environ, COUNTED):
        return run_ranks("tests.workloads.allreduce.ranks_program", request.param)


def test_every_method_and_collective_gives_what_numpy_gives(result):
    assert result["wrong"] == [] and set(METHODS) <= set(result["called"])
    if result["ranks"] == 2:
        need(horovod.built(), "Horovod, built by make test")
        assert "horovod" in result["called"]


def test_ordered_algorithms_send_the_messages_of_their_formulas(result):
    ranks, size = result["ranks"], 4096
    for rank, (count, sent) in enumerate(result["messages"]["ring"]):
        right = (rank + 1) % ranks
        assert count[right] == sum(count) == 2 * (ranks - 1)
        assert sent[right] == sum(sent) == pytest.approx(2 * (ranks - 1) * size / ranks, abs=8)
    count = [sum(counts) for counts, _ in result["messages"]["basic_linear"]]
    assert count == [ranks - 1] + [1] * (ranks - 1), "all send to one rank, which sends the sum to all"
    doubling = [sum(counts) for counts, _ in result["messages"]["recursive_doubling"]]
    assert doubling == {2: [1, 1], 3: [1, 2, 1]}[ranks], "rank 1 of three adds up for rank 0, and sends it the sum"


def test_metrics_have_a_time_for_every_size(result):
    metrics = result["methods"]["metrics"]
    assert metrics["sizes"] == SIZES["methods"]
    for name in METHODS:
        assert len(metrics["seconds"][name]) == len(metrics["sizes"]) and min(metrics["seconds"][name]) > 0
    assert metrics["memory_bandwidth"] > 1e8 and metrics["hosts"] == 1 and "link_bandwidth" not in metrics
    assert metrics["left_out"] == {} and not metrics["stopped"]
    metrics = result["operations"]["metrics"]
    assert metrics["sizes"] == SIZES["operations"] and list(metrics["seconds"]) == [*PAIRS, *COLLECTIVES]
    for name, seconds in metrics["seconds"].items():
        assert len(seconds) == (1 if name == "barrier" else 3)
        assert all(took > 0 for took in seconds) and all(spread >= 1 for spread in metrics["spread"][name])


def test_open_mpi_s_choices_are_among_its_algorithms(result):
    assert result["operations"]["metrics"]["algorithms_unknown"] == ""
    chosen = result["operations"]["metrics"]["algorithms"]
    assert list(chosen) == list(COLLECTIVES)
    assert "recursive_doubling" in chosen["allreduce"][0], "coll_tuned_decision_fixed.c takes it for small messages"
    own = result["methods"]["metrics"]["algorithms"]["own"]
    assert "recursive_doubling" in own[0], "the method own is the same all-reduce"
    assert ("two_proc" in chosen["allgather"][0]) == (result["ranks"] == 2), "one for two ranks refuses three"


@pytest.mark.parametrize(("part", "names"), [("methods", METHODS), ("operations", (*PAIRS, *COLLECTIVES[:-1]))])
def test_rank_0_alone_tells_latency_by_size(result, part, names):
    first, *others = result[part]["events"]
    events = ("message", *(f"latency {name}" for name in names))
    assert sorted(first) == sorted([name, step] for name in events for step in range(len(SIZES[part])))
    assert not any(others)


def test_rank_0_keeps_a_table(result):
    lines = result["operations"]["table"].splitlines()
    assert lines[3].split() == ["#", "Size", "Latency", "(us)", "Iterations"]
    assert [int(line.split()[0]) for line in lines[4:7]] == SIZES["operations"]
