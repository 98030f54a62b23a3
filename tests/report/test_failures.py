"""Placements that go wrong: each does what it says, and so does its fix."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.report.analysis.cases import run
from workshop.core import machines
from workshop.core.errors import BadInput
from workshop.core.placement import Placement, hosts_from
from workshop.mpi import mapper
from workshop.registry import workload
from workshop.report.failures import Failure, failure, failures
from workshop.report.verdict import verdict

MACHINE = machines.read("1x2")
HOSTS = hosts_from("a:2,b:2,c:2")
ALL = failures(2, HOSTS)
HERE = [one for one in ALL if one.name != "stale-hosts"]


def said(one: Failure, placement: Placement) -> str:
    """The verdict of a run that went where it was predicted to go."""
    found = mapper.predict(placement, MACHINE)
    assert found.refused is None and found.rank_map is not None and found.machine is not None
    done = run(workload=one.workload, placement=placement.as_json(), rank_map=found.rank_map, machine=found.machine)
    return verdict(replace(done, params={**one.params}), {})["verdict"]


@pytest.mark.real
@pytest.mark.parametrize("one", HERE, ids=lambda one: one.name)
def test_each_has_its_verdict_and_its_fix_another(one: Failure) -> None:
    assert one.verdict
    assert said(one, one.broken).startswith(one.verdict)
    assert not said(one, one.fixed).startswith(one.verdict)


@pytest.mark.parametrize("one", ALL, ids=lambda one: one.name)
def test_each_can_be_run(one: Failure) -> None:
    assert one.broken != one.fixed
    assert workload(one.workload).check(dict(one.params))
    assert Placement.parse(one.as_json()["broken"]) == one.broken
    assert one.needs_hosts == bool(one.broken.hosts)


@pytest.mark.parametrize("cores", [1, 2, 3, 8, 64])
def test_they_fit_any_machine(cores: int) -> None:
    for one in failures(cores):
        assert one.broken.ranks <= 8 * cores or one.needs_hosts


def test_they_come_in_the_order_of_the_course() -> None:
    names = ["shared-core", "too-many-threads", "threads-on-one-core", "first-host", "polling", "stale-hosts"]
    assert [one.name for one in ALL] == names
    assert "order" not in ALL[0].as_json()


def test_another_name_is_bad_input() -> None:
    with pytest.raises(BadInput, match="there are shared-core"):
        failure("bogus", 2)
