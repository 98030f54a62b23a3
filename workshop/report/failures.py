"""Guided failures of placements: what all workloads bring. Notebooks get it by `from workshop import failures`."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from workshop import registry
from workshop.core.errors import BadInput
from workshop.core.placement import Host
from workshop.extension import Failure

__all__ = ["Failure", "failure", "failures"]

EXAMPLES = (Host(name="node1", slots=2), Host(name="node2", slots=2))  # shown where a session has no hosts


def failures(cores: int, hosts: Sequence[Host] = (), mpis: Collection[str] = ()) -> tuple[Failure, ...]:
    """All of them for a machine (or for each of several hosts) with so many cores, in their order.

    `hosts` are the session's, if it has several; `mpis` are the names of the MPIs that are installed.
    """
    some = tuple(hosts) if len(hosts) > 1 else EXAMPLES
    return tuple(registry.failures(cores, some, mpis).values())


def failure(name: str, cores: int, hosts: Sequence[Host] = (), mpis: Collection[str] = ()) -> Failure:
    """The failure of that name. Raises BadInput for another name."""
    by_name = {example.name: example for example in failures(cores, hosts, mpis)}
    if name not in by_name:
        raise BadInput(f"There is no failure {name!r}; there are {', '.join(by_name)}.")
    return by_name[name]
