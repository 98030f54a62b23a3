"""The guided failures of placements that the training shows."""

from __future__ import annotations

from tests.report.test_failures import HOSTS
from workshop.workloads.mnist.failures import failures


def test_a_crowded_host_has_a_slot_for_each_rank() -> None:
    for cores in (1, 2, 8):
        crowded = next(one for one in failures(cores, HOSTS, ()) if one.name == "first-host")
        assert all(host.slots >= crowded.broken.ranks for host in crowded.broken.hosts)
        assert (crowded.broken.map_by, crowded.fixed.map_by) == ("slot", "node")


def test_one_core_is_too_few_for_two_threads() -> None:
    one = next(one for one in failures(2, HOSTS, ()) if one.name == "threads-on-one-core")
    assert (one.broken.threads, one.broken.cores_per_rank) == (2, 1)
    assert (one.fixed.threads, one.fixed.cores_per_rank) == (2, 2)
