"""Every way to add up arrays against NumPy, on one to four real ranks, and what the workload tells of them."""

from __future__ import annotations

import pytest

from tests.ranks import by_ranks, run_ranks
from tests.support import need, starts_processes
from workshop.mpi import horovod

pytestmark = pytest.mark.real
SIZES = [4, 16, 64, 256, 1024, 4096, 16384, 65536]


@pytest.fixture(scope="module", params=by_ranks(1, 2, 3, 4))
@starts_processes
def found(request):
    return run_ranks("tests.workloads.allreduce.ranks_program", request.param)


def test_every_method_finds_the_sum_on_every_rank(found):
    assert found["wrong"] == []
    assert {"ring", "own", "parameter-server"} <= set(found["called"])
    if found["ranks"] == 2:
        need(horovod.built(), "Horovod, built by make test")
        assert "horovod" in found["called"]


def test_the_workload_tells_a_time_for_every_size(found):
    metrics = found["metrics"]
    assert metrics["sizes"] == SIZES
    for name in ("ring", "own", "parameter-server"):
        assert len(metrics["seconds"][name]) == len(SIZES) and min(metrics["seconds"][name]) > 0
    assert metrics["memory_bandwidth"] > 1e8
    assert metrics["hosts"] == 1 and "link_bandwidth" not in metrics
    assert metrics["left_out"] == {} and not metrics["stopped"]


def test_rank_0_alone_tells_latency_by_size(found):
    own = [[[name, step] for name, step in told if not name.startswith("time.")] for told in found["events"]]
    names = [f"latency {name}" for name in ("ring", "own", "parameter-server")]
    steps = range(len(SIZES))
    assert sorted(own[0]) == sorted([name, step] for name in ("message", *names) for step in steps)
    assert not any(own[1:])
