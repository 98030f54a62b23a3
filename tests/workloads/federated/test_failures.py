"""Guided failures of federations: their commands can be typed, and what each says is about what it runs. That they fail
and are mended as they say is tested in tests/runtime/test_federated.py, and for OpenFL's with its environment."""

from __future__ import annotations

import shlex
from typing import Any

import pytest
import typer

from workshop.cli.main import app
from workshop.core.errors import BadInput
from workshop.registry import workload
from workshop.workloads.federated.failures import FederatedFailure, federated_failure, federated_failures

ALL = federated_failures()


@pytest.mark.parametrize("which", ["broken", "fixed"])
@pytest.mark.parametrize("one", ALL, ids=lambda one: one.name)
def test_each_can_be_run(one: FederatedFailure, which: Any) -> None:
    assert workload(one.workload).check(one.params_of(which))
    first, *words = shlex.split(one.command(which))
    assert first == "workshop"
    command: Any = typer.main.get_command(app)
    context = command.make_context("workshop", [], resilient_parsing=True)
    while hasattr(command, "get_command") and (inner := command.get_command(context, words[0])) is not None:
        command, context = inner, inner.make_context(words.pop(0), [], resilient_parsing=True)
    known = {option for param in command.params for option in param.opts}
    assert {word for word in words if word.startswith("--")} <= known
    assert len(words) == 2 * len(one.params_of(which))


@pytest.mark.parametrize("one", ALL, ids=lambda one: one.name)
def test_each_differs_from_its_fix_in_what_it_names(one: FederatedFailure) -> None:
    assert set(one.broken) == set(one.fixed) and not set(one.broken) & set(one.params)
    assert all(one.broken[name] != one.fixed[name] for name in one.broken)
    assert one.verdict and one.mended and one.verdict != one.mended
    told = one.as_json()
    assert told["broken"] == {"params": one.params_of("broken"), "command": one.command("broken")}
    assert told["fixed"]["command"] != told["broken"]["command"]


def test_names_are_unique_and_those_of_openfl_come_last() -> None:
    assert len({one.name for one in ALL}) == len(ALL)
    assert [one.needs_openfl for one in ALL] == sorted(one.needs_openfl for one in ALL)
    assert sum(one.needs_openfl for one in ALL) >= 4
    assert all(federated_failure(one.name) is one for one in ALL)


def test_another_name_is_bad_input() -> None:
    with pytest.raises(BadInput, match="there are unequal-masks"):
        federated_failure("bogus")
