"""Guided failures: what all workloads bring, and the commands that run them. Notebooks get it by `from workshop import
failures`."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Sequence

from workshop import registry
from workshop.core.errors import BadInput
from workshop.core.placement import Host
from workshop.extension import Failure, Side
from workshop.report.actions import option_of, where_of

__all__ = ["Failure", "failure", "failures"]

EXAMPLES = (Host(name="node1", slots=2), Host(name="node2", slots=2))  # shown where a session has no hosts


def failures(cores: int, hosts: Sequence[Host] = (), mpis: Collection[str] = ()) -> tuple[Failure, ...]:
    """Mistakes in a placement on a machine (or each of several hosts) with so many cores, in their order. `hosts` are
    the session's, if it has several; `mpis` are the names of the MPIs that are installed."""
    some = tuple(hosts) if len(hosts) > 1 else EXAMPLES
    return tuple(entry for entry in registry.failures(cores, some, mpis).values() if entry.in_placement)


def failures_of(*workloads: str) -> tuple[Failure, ...]:
    """Mistakes in the params of these workloads, in their order."""
    every = registry.failures(1, EXAMPLES, ()).values()
    return tuple(entry for entry in every if entry.workload in workloads and not entry.in_placement)


def failure(name: str, cores: int, hosts: Sequence[Host] = (), mpis: Collection[str] = ()) -> Failure:
    """The mistake in a placement of that name. Raises BadInput for another name."""
    by_name = {example.name: example for example in failures(cores, hosts, mpis)}
    if name not in by_name:
        raise BadInput(f"There is no failure {name!r}; there are {', '.join(by_name)}.")
    return by_name[name]


def command(example: Failure, side: Side) -> str:
    """The command line of one of the two runs; in a session over its hosts where its placement names some."""
    params = [word for name, value in example.params_of(side).items() for word in option_of(name, value)]
    placement = example.placements()[side]
    where = where_of(placement) if placement else []
    return shlex.join([*(example.command or ("workshop", "run", example.workload)), *params, *where])
