"""What is said of where ranks ran, on several hosts and where waiting ranks poll."""

from __future__ import annotations

from typing import Any

import pytest

from tests.report.analysis.cases import machine, rank_map, run
from workshop.core.placement import POLLING
from workshop.report.analysis.findings import facts
from workshop.report.verdict import verdict


def placed(*names: str, ranks: int = 2, **more: Any) -> dict[str, Any]:
    hosts = [{"name": name, "slots": ranks} for name in names]
    return {"mpi": "openmpi", "ranks": ranks, "cores_per_rank": 1, "threads": 1, "hosts": hosts, **more}


def on_hosts(*hosts: str) -> dict[str, Any]:
    ranks = [rank_map([0], host=host)["ranks"][0] | {"rank": rank} for rank, host in enumerate(hosts)]
    return {"measured": True, "ranks": ranks}


@pytest.mark.parametrize(
    ("names", "there", "said", "why"),
    [
        (["node1", "node2"], "node1", "All ranks are on the first host, node1.", "No rank is on node2:"),
        (["node1", "node2", "node3"], "node2", "All ranks are on one host, node2.", "No rank is on node1 and node3:"),
        (["node1.site.org", "node2.site.org"], "node1", "All ranks are on the first host, node1.", "node2.site.org"),
        (["10.0.0.1", "10.0.0.2"], "node1", "All ranks are on one host, node1.", "No rank is on the others:"),
    ],
)
def test_all_ranks_on_one_of_several_hosts(names: list[str], there: str, said: str, why: str) -> None:
    told = verdict(run(placement=placed(*names), rank_map=rank_map([0], [1], host=there), machine=machine(2)), {})
    assert told["verdict"] == said
    assert why in told["why"]
    assert "--map-by node" in told["next"]


@pytest.mark.parametrize(
    ("more", "why", "following"),
    [
        ({"mpi": "mpich"}, "MPICH's ranks poll", "--mpi openmpi"),
        ({"environment": {POLLING: "0"}}, f"{POLLING} is 0", f"without {POLLING}=0"),
    ],
)
def test_waiting_ranks_that_poll(more: dict[str, Any], why: str, following: str) -> None:
    crowded = run(placement=placed(ranks=4, **more), rank_map=rank_map(*[[0, 1]] * 4), machine=machine(2))
    told = verdict(crowded, {})
    assert told["verdict"] == "Ranks that wait keep their cores from those that work."
    assert why in told["why"] and "Hardware threads 0 and 1 are shared by ranks 0 to 3" in told["why"]
    assert following in told["next"] and "--ranks 2" in told["next"]


@pytest.mark.parametrize("more", [{}, {"environment": {POLLING: "1"}}, {"mpi": "intelmpi"}])
def test_waiting_ranks_that_yield_are_just_too_many(more: dict[str, Any]) -> None:
    crowded = run(placement=placed(ranks=4, **more), rank_map=rank_map(*[[0, 1]] * 4), machine=machine(2))
    assert verdict(crowded, {})["verdict"] == "Oversubscribed: 4 ranks on 2 cores."


def test_cores_of_all_hosts_count() -> None:
    both = machine(2, host="node1") | {"more": [machine(4, host="node2")]}
    known = facts(run(placement=placed("node1", "node2"), rank_map=on_hosts("node1", "node2"), machine=both), {})
    assert (known.cores, known.busy, known.hosts, known.unbound) == (6, 2, 2, False)
