"""Which placements the allocation of a session carries, and what a launcher is told of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from workshop import mpi
from workshop.core.errors import BadInput
from workshop.core.placement import Placement
from workshop.runtime.launchers.site import RANKS_PER_CORE
from workshop.runtime.launchers.slurm.script import CHOOSES


def check_placement(options: Mapping[str, Any], placement: Placement) -> None:
    """Refuse what the session's allocation can't carry, whatever its nodes are like: this machine needn't be one of
    them. Raises BadInput."""
    mpi.of(placement.mpi).launcher()
    if placement.hosts:
        raise BadInput(CHOOSES)
    cores = int(options["cores"])
    if placement.ranks > RANKS_PER_CORE * cores:
        raise BadInput(
            f"ranks is {placement.ranks}: the session has asked Slurm for {cores} cores, which take at most "
            f"{RANKS_PER_CORE * cores}, {RANKS_PER_CORE} per core; start one with more ranks."
        )
    arguments(options, placement, None)


def arguments(options: Mapping[str, Any], placement: Placement, machine: Mapping[str, Any] | None) -> list[str]:
    """The launcher's options for a placement. `machine` is what a node has; None: as much as any rank may want, so that
    only what no node could carry is refused. Raises BadInput."""
    chosen, cores = mpi.of(placement.mpi), int(options["cores"])
    if placement.mpi == "openmpi":  # whose mapper looks for itself
        return list(chosen.arguments(placement, cores))
    return list(chosen.arguments(placement, cores, machine or _endless(placement.ranks)))


def _endless(count: int) -> dict[str, Any]:
    """A machine that has so many of everything."""
    return {"units": [dict.fromkeys(("unit", "core", "package", "numa", "l3"), number) for number in range(count)]}
