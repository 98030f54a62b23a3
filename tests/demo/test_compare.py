"""What the demo of several hosts runs where nobody asks for anything else."""

from __future__ import annotations

import pytest

from workshop.cli.demo import WORKLOAD
from workshop.demo import compare
from workshop.registry import workload


def test_the_default_has_params_of_its_own() -> None:
    assert WORKLOAD in compare.PARAMS


@pytest.mark.parametrize("name", compare.PARAMS)
def test_a_workloads_params_are_what_it_takes(name: str) -> None:
    chosen = workload(name)
    chosen.check(compare.PARAMS[name])
    assert chosen.scaling is not None, "its speed is told"
