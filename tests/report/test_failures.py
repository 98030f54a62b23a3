"""Guided failures: placements do what they say, mistakes in params can be run and typed, and so can what mends them."""

from __future__ import annotations

import shlex
from dataclasses import replace
from typing import Any

import pytest
import typer

from tests.report.analysis.cases import run
from workshop.cli.main import app
from workshop.core import machines
from workshop.core.errors import BadInput
from workshop.core.placement import Placement, hosts_from
from workshop.extension import SIDES, Side
from workshop.mpi import mapper
from workshop.registry import workload, workloads
from workshop.report.failures import Failure, command, failure, failures, failures_of
from workshop.report.verdict import verdict

MACHINE = machines.read("1x2")
HOSTS = hosts_from("a:2,b:2,c:2")
ALL = failures(2, HOSTS)
IN_PARAMS = [each for each in failures_of(*workloads()) if each.sides == SIDES]
HERE = [one for one in ALL if one.name != "stale-hosts"]


def said(one: Failure, placement: Placement | None) -> str:
    """The verdict of a run that went where it was predicted to go."""
    assert placement is not None
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
    assert one.broken is not None and Placement.parse(one.as_json()["broken"]) == one.broken
    assert one.needs_hosts == bool(one.broken.hosts)


def test_another_name_is_bad_input() -> None:
    with pytest.raises(BadInput, match="there are shared-core"):
        failure("bogus", 2)


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("example", IN_PARAMS, ids=lambda example: example.name)
def test_a_mistake_in_params_can_be_run_and_typed(example: Failure, side: Side) -> None:
    params = example.params_of(side)
    assert workload(example.workload).check(params)
    first, *words = shlex.split(command(example, side))
    assert first == "workshop"
    called: Any = typer.main.get_command(app)
    context = called.make_context("workshop", [], resilient_parsing=True)
    while hasattr(called, "get_command") and (inner := called.get_command(context, words[0])) is not None:
        called, context = inner, inner.make_context(words.pop(0), [], resilient_parsing=True)
    known = {option for param in called.params for option in param.opts}
    assert {word for word in words if word.startswith("--")} <= known
    assert {f"--{name.replace('_', '-')}" for name in params} <= set(words)


@pytest.mark.parametrize("example", IN_PARAMS, ids=lambda example: example.name)
def test_a_mistake_in_params_differs_from_its_fix_in_what_it_names(example: Failure) -> None:
    assert not set(example.broken_params) & set(example.params) and not set(example.fixed_params) & set(example.params)
    assert set(example.broken_params) == set(example.fixed_params) != set()
    assert all(example.fixed_params[name] != value for name, value in example.broken_params.items())
    assert example.verdict and example.mended and example.fix and example.verdict != example.mended
    assert command(example, "broken") != command(example, "fixed")
