"""Intel MPI's command line. Variables set its pinning; it ignores variables that it doesn't understand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from workshop.core.errors import BadInput
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

NAME = "Intel MPI"
DOMAINS = {"hwthread": "1", "core": "core", "l3cache": "cache3", "numa": "numa", "package": "socket"}
launcher = partial(hydra.launcher, "intelmpi", NAME)
version = partial(hydra.version, "intelmpi", NAME)
install = partial(prefix.install, "intelmpi")


def arguments(placement: Placement, cores: int, machine: Mapping[str, Any] | None = None) -> list[str]:
    """mpiexec's options for a placement, without the number of ranks. Raises BadInput for what it has no words for.

    `cores` is what the machine has; it decides what `auto` means. `machine` is each host's, None: this one. Where the
    placement itself sets I_MPI_PIN…, those settings stand alone.
    """
    hydra.check(placement, cores, NAME, machine)
    pinned_by_user = any(name.startswith("I_MPI_PIN") for name in placement.environment)
    pins = {} if pinned_by_user else _pinning(placement, cores, machine)
    options = [word for name, value in pins.items() for word in ("-genv", name, value)]
    if placement.hosts:
        options += ["-hosts", ",".join(host.name for host in placement.hosts), *_per_host(placement)]
    return options


def _pinning(placement: Placement, cores: int, machine: Mapping[str, Any] | None) -> dict[str, str]:
    """The variables that pin ranks as a placement asks for. Raises BadInput where none do.

    A domain is what a rank may not leave. `compact` domains follow each other as closely as they can, `scatter` deals
    them out over the packages.
    """
    bound, by = placement.binding(cores), placement.map_by
    if bound == "none":
        return {"I_MPI_PIN": "0"}
    order = "compact"
    if by == "package" and bound == "core":
        order = "scatter"
    elif by not in ("auto", "slot", "node", bound):
        raise BadInput(
            f"{NAME} has no words for ranks that are dealt out over {by} and bound to {bound}; map_by should be "
            f"{'core, package' if bound == 'core' else bound} or auto."
        )
    domain = DOMAINS[bound]
    if placement.cores_per_rank > 1:  # its size, in hardware threads
        if placement.cores_per_rank > cores and not placement.hosts:
            raise BadInput(
                f"{NAME} can't give each rank {placement.cores_per_rank} cores of a machine that has {cores}; "
                f"cores_per_rank should be at most {cores}."
            )
        threads = hydra.count("hwthread", machine) // max(hydra.count("core", machine), 1)
        domain = str(placement.cores_per_rank * max(threads, 1))
    return {"I_MPI_PIN_DOMAIN": domain, "I_MPI_PIN_ORDER": order}


def _per_host(placement: Placement) -> list[str]:
    """All hosts get as many ranks as the first: its launcher takes no slots of single hosts."""
    if placement.map_by == "node":
        return hydra.per_host(placement)
    first, *others = [host.slots for host in placement.hosts]
    filled = placement.ranks <= first + sum(others)  # so that the last host may get fewer
    if set(others[:-1]) - {first} or any(slots > first or (slots < first and not filled) for slots in others[-1:]):
        host_list = ", ".join(f"{host.name}:{host.slots}" for host in placement.hosts)
        raise BadInput(
            f"{NAME} takes the same number of ranks on every host, these are {host_list}; give all the same."
        )
    return ["-ppn", str(first)]


def environment(placement: Placement | None = None) -> dict[str, str]:
    """Variables for mpiexec and its ranks: which library they load, shared memory alone within this machine, and how
    the ranks end that are left when one has died. Raises BadInput where Intel MPI isn't installed."""
    shared = {} if placement is not None and placement.hosts else alone()
    return hydra.environment("intelmpi", NAME) | {"I_MPI_JOB_ABORT_SIGNAL": str(hydra.CLEANED_UP)} | shared


def over_ssh(program: str, options: Sequence[str]) -> dict[str, str]:
    """Variables by which mpiexec reaches other hosts with a program that has ssh's words; options are not needed."""
    return {"I_MPI_HYDRA_BOOTSTRAP": "ssh", "I_MPI_HYDRA_BOOTSTRAP_EXEC": program}


def in_slurm() -> dict[str, str]:
    """Variables by which mpiexec starts its daemons with srun."""
    return {"I_MPI_HYDRA_BOOTSTRAP": "slurm", "I_MPI_FABRICS": "shm:ofi"}


def alone() -> dict[str, str]:
    """Variables for ranks that are all on this machine: they use shared memory alone."""
    return {"I_MPI_FABRICS": "shm"}
