"""What MPIs do where a command doesn't say to what ranks are bound: often not what `auto` of a placement means."""

from __future__ import annotations

from typing import Any

from workshop.errors import BadInput
from workshop.machines import Described
from workshop.mpi.words.found import Found

# Open MPI 5 binds ranks to what it deals them out over, if that is part of a host.
_PARTS = ("hwthread", "core", "l3cache", "numa", "package")
FEW = 2  # ranks that Open MPI binds to cores where they are dealt out over slots or hosts; more get a NUMA node


def settle(found: Found, values: dict[str, Any], environment: dict[str, str], described: Described | None) -> None:
    """Say in the values of a placement, and in its environment, what the command leaves to its MPI. Raises BadInput
    for a command that the MPI would refuse, but not as it is written of the placement."""
    if found.launcher == "srun":
        return  # how Slurm binds is a matter of its configuration
    bound = found.bind_to or (None if "bind" in found.said else _bound(found, values, environment))
    cores = described.cores if described is not None and not values["hosts"] else 1 << 30
    if values["mpi"] != "openmpi":
        values["bind_to"] = bound or "auto"
        return
    dealt = values["per_resource"] is None
    if found.bind_to == "none" and (found.cores_per_rank or 1) > 1:
        raise BadInput(
            f"pe={found.cores_per_rank} gives each rank cores of its own, but --bind-to none binds it to nothing; it "
            "should have one of them."
        )
    several = described is None or described.count("unit") > described.count("core")
    if found.bind_to == "hwthread" != found.map_by and not found.hardware_threads and several:
        if (found.cores_per_rank or 1) == 1:
            raise BadInput(
                "--bind-to hwthread needs hardware threads that are counted as places for ranks; it should have "
                "--use-hwthread-cpus, or :HWTCPUS behind --map-by."
            )
        found.bind_to = "core"  # of which a rank owns several
    threads = bound == "hwthread" and not found.hardware_threads  # which the placement's own command counts as slots
    loose = bound == "none" or threads
    if values["ranks"] > cores and dealt and loose and not found.oversubscribe and found.tool == "openmpi":
        raise BadInput(
            f"ranks is {values['ranks']}, but the machine has {cores} cores, which are its slots; it should have "
            f"--oversubscribe{' or --use-hwthread-cpus' if threads else ''}."
        )
    scarce = values["ranks"] * values["cores_per_rank"] > cores
    auto = "none" if scarce and dealt else "hwthread" if values["map_by"] == "hwthread" else "core"
    values["bind_to"] = found.bind_to or ("auto" if bound in (None, auto) else bound)


def _bound(found: Found, values: dict[str, Any], environment: dict[str, str]) -> str | None:
    """What ranks are bound to without a word on it; None: `auto` says it, or nothing does."""
    if values["mpi"] == "mpich":
        return "none"
    if values["mpi"] == "intelmpi":
        if not any(name.startswith("I_MPI_PIN") for name in environment):
            environment["I_MPI_PIN_DOMAIN"] = "auto"  # which is its default
        return None
    if found.tool == "horovodrun" and not found.said and found.map_by is None:
        return "none"
    if values["cores_per_rank"] > 1:
        return "core"
    if found.oversubscribe:
        return "none"
    if values["map_by"] in _PARTS:
        return values["map_by"]
    return "core" if values["map_by"] == "auto" or values["ranks"] <= FEW else "numa"
