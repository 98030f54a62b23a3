"""Guided failures of cuts: mistakes in what ranks exchange, and in how the work is divided. `failures.yaml` describes
them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from workshop.core.placement import Host, Placement
from workshop.extension import Failure


def failures(cores: int = 1, hosts: Sequence[Host] = (), mpis: Collection[str] = ()) -> tuple[Failure, ...]:
    """Return all failures, which are the same on each machine: two cores are enough, and the ranks take turns."""
    return _read()


@cache
def _read() -> tuple[Failure, ...]:
    entries = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8"))
    return tuple(map(_failure, entries))


def _failure(entry: dict[str, Any]) -> Failure:
    placement = Placement(ranks=entry.pop("ranks", 2), oversubscribe=True, threads=1)
    return Failure(workload="parallel", broken=placement, fixed=placement, **entry)


def failure_of(fault: object) -> Failure | None:
    """Return the failure that a run with this `fault` shows; None where nothing is broken on purpose."""
    return next((failure for failure in _read() if failure.broken_params.get("fault") == fault), None)
