"""Guided failures of federations: mistakes in what institutions send, or in how the aggregator uses it. `failures.yaml`
describes them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import cache
from pathlib import Path

import yaml

from workshop.core.placement import Host
from workshop.extension import Failure


def failures(cores: int = 1, hosts: Sequence[Host] = (), mpis: Collection[str] = ()) -> tuple[Failure, ...]:
    """Return all failures, which are the same on each machine: first those on our own ranks, then those over OpenFL."""
    return _read()


@cache
def _read() -> tuple[Failure, ...]:
    entries = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8"))
    return tuple(Failure(broken=None, fixed=None, **entry) for entry in entries)


def openfl_fix(fault: str) -> str:
    """Return what mends the failure that a run over OpenFL with this `fault` shows."""
    return next(failure.fix for failure in _read() if failure.broken_params.get("fault") == fault)
