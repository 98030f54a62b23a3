"""Every collective against NumPy on real ranks, the messages of ordered algorithms, and the workload's metrics."""

from __future__ import annotations

import os
from unittest import mock

import pytest

from tests.ranks import by_ranks, run_ranks
from tests.support import starts_processes
from workshop.workloads.allreduce import COLLECTIVES, COUNTED, PAIRS

pytestmark = pytest.mark.real
SIZES = [4, 16, 20]


@pytest.fixture(scope="module", params=by_ranks(2, 3))
@starts_processes
def result(request):
    with mock.patch.dict(os.environ, COUNTED):
        return run_ranks("tests.workloads.allreduce.operations_program", request.param)


def test_every_collective_gives_what_numpy_gives(result):
    assert [rank["wrong"] for rank in result["each"]] == [[]] * result["ranks"]


def test_ordered_algorithms_send_the_messages_of_their_formulas(result):
    ranks, size = result["ranks"], 4096
    for rank, (count, sent) in enumerate(result["messages"]["ring"]):
        right = (rank + 1) % ranks
        assert count[right] == sum(count) == 2 * (ranks - 1)
        assert sent[right] == sum(sent) == pytest.approx(2 * (ranks - 1) * size / ranks, abs=8)
    count = [sum(counts) for counts, _ in result["messages"]["basic_linear"]]
    assert count == [ranks - 1] + [1] * (ranks - 1), "all send to one rank, which sends the sum to all"
    doubling = [sum(counts) for counts, _ in result["messages"]["recursive_doubling"]]
    assert doubling == {2: [1, 1], 3: [1, 2, 1]}[ranks], (
        "of three ranks, rank 1 adds up for rank 0, and sends it the sum"
    )


def test_metrics_by_operation_and_size(result):
    metrics = result["metrics"]
    assert metrics["sizes"] == SIZES
    assert list(metrics["seconds"]) == [*PAIRS, *COLLECTIVES]
    for name, seconds in metrics["seconds"].items():
        assert len(seconds) == (1 if name == "barrier" else len(SIZES))
        assert all(took > 0 for took in seconds) and all(spread >= 1 for spread in metrics["spread"][name])


def test_open_mpi_s_choices_are_among_its_algorithms(result):
    assert result["metrics"]["algorithms_unknown"] == ""
    chosen = result["metrics"]["algorithms"]
    assert list(chosen) == list(COLLECTIVES)
    assert "recursive_doubling" in chosen["allreduce"][0], "coll_tuned_decision_fixed.c takes it for small messages"
    own = result["own"]["algorithms"]["own"]
    assert "recursive_doubling" in own[0], "the method own is the same all-reduce"
    assert ("two_proc" in chosen["allgather"][0]) == (result["ranks"] == 2), "one for two ranks refuses three"


def test_rank_0_alone_tells_times_and_the_table(result):
    first, *others = (rank["events"] for rank in result["each"])
    names = [f"latency {name}" for name in (*PAIRS, *COLLECTIVES[:-1])]
    assert sorted(first) == sorted([name, step] for name in ("message", *names) for step in range(len(SIZES)))
    assert not any(others)
    lines = result["table"].splitlines()
    assert lines[3].split() == ["#", "Size", "Latency", "(us)", "Iterations"]
    assert [int(line.split()[0]) for line in lines[4:7]] == SIZES


def test_messages_larger_than_memory_are_refused_on_all_ranks(result):
    (refusal,) = {rank["refusal"] for rank in result["each"]}
    assert refusal.startswith("alltoall of 16.0 TiB needs ") and refusal.endswith("take a smaller largest message.")
