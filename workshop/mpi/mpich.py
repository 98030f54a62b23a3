"""MPICH: its command line, and its mapper's words. Its ranks wait by polling and never yield a core."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from workshop.core.placement import Placement
from workshop.mpi import hydra, prefix
from workshop.mpi.hydra import FORWARDS as FORWARDS
from workshop.mpi.hydra import SHARES as SHARES
from workshop.mpi.hydra import assignments as assignments
from workshop.mpi.hydra import death as death
from workshop.mpi.hydra import early_exit as early_exit
from workshop.mpi.hydra import exports as exports
from workshop.mpi.hydra import refusal as refusal
from workshop.mpi.hydra import refuses as refuses

NAME = "MPICH"
WORDS = {"package": "socket"}  # the others have the same names
launcher = partial(hydra.launcher, "mpich", NAME)
version = partial(hydra.version, "mpich", NAME)
install = partial(prefix.install, "mpich")


def arguments(placement: Placement, cores: int, machine: Mapping[str, Any] | None = None) -> list[str]:
    """mpiexec's options for a placement, without the number of ranks. Raises BadInput for what it has no words for.

    `cores` is what the machine has; it decides what `auto` means. Ranks beyond the last place begin again at the first
    one. `machine` is each host's, None: this one.
    """
    hydra.check(placement, cores, NAME, machine)
    bound = placement.binding(cores)
    options = ["-bind-to", _word(bound)]
    if placement.cores_per_rank > 1 and bound == "core":
        options[-1] += f":{placement.cores_per_rank}"
    # Without a word on it, ranks are dealt out over what they are bound to.
    if bound != "none" and placement.map_by not in ("auto", "slot", "node", bound):
        options += ["-map-by", _word(placement.map_by)]
    if placement.hosts:
        options += ["-hosts", ",".join(f"{host.name}:{host.slots}" for host in placement.hosts)]
    return [*options, *hydra.per_host(placement)]


def _word(resource: str) -> str:
    return WORDS.get(resource, resource)


def environment(placement: Placement | None = None) -> dict[str, str]:
    """Variables for mpiexec and its ranks: which library they load. Raises BadInput where MPICH isn't installed."""
    return hydra.environment("mpich", NAME)


def over_ssh(program: str, options: Sequence[str]) -> dict[str, str]:
    """Variables by which mpiexec reaches other hosts with a program that has ssh's words; options are not needed."""
    return {"HYDRA_LAUNCHER": "ssh", "HYDRA_LAUNCHER_EXEC": program}


def in_slurm() -> dict[str, str]:
    """Variables by which mpiexec starts its daemons with srun."""
    return {"HYDRA_LAUNCHER": "slurm", "HYDRA_RMK": "slurm"}


def alone() -> dict[str, str]:
    """Variables for ranks that are all on this machine: they use shared memory alone. The user's own settings of
    transports stay."""
    return {} if "UCX_TLS" in os.environ else {"UCX_TLS": "self,sm"}
