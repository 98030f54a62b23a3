"""Open MPI 5: its command line, its defaults that matter here, and what it says when it refuses or a rank dies."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from workshop.errors import BadInput, WorkshopError
from workshop.mpi import REFUSES
from workshop.placement import POLLING, Placement

# Ranks that poll without yielding take a whole core from those who work; yielding is worth up to a third of the
# throughput where ranks and cores are even, and far more where ranks outnumber cores.
MCA = ("--mca", "mpi_yield_when_idle", "1")

NAME = "Open MPI"
# Over a network, ranks notice the end of another one before mpirun does, abort, and are blamed for it: they should wait
# so many seconds.
PATIENT = {"OMPI_MCA_opal_abort_delay": "2"}

REFUSED = f"{NAME} {REFUSES}"
MAPPED = 20.0  # seconds within which the mapper must have answered; it takes a tenth of one
LARGER = ("l3cache", "numa", "package")  # than a core
_DIED = re.compile(r"process rank (\d+) with PID (\d+) on node (\S+)\s+exited\s+on\s+signal\s+(\d+)")
_RULE = re.compile(r"^-{20,}\s*$", re.M)


def launcher() -> str:
    """The environment's own mpirun: another Open MPI's would start worlds of size 1. Raises BadInput."""
    mpirun = Path(sys.prefix) / "bin" / "mpirun"
    if not mpirun.exists():
        raise BadInput(f"Open MPI's mpirun is not in {mpirun.parent}; install the package openmpi there.")
    return str(mpirun)


def arguments(placement: Placement, cores: int) -> list[str]:
    """mpirun's options for a placement, without the number of ranks.

    `cores` is what the machine has; it decides what `auto` means and whether to allow more ranks than cores.
    """
    scarce = not placement.hosts and placement.ranks * placement.cores_per_rank > cores
    dealt = placement.per_resource is None  # over something, without a number for each
    if placement.per_resource is not None:
        # More on each than there are at all would be the same, but makes the mapper miscount them.
        mapping = f"ppr:{min(placement.per_resource, placement.ranks)}:{placement.map_by}"
    elif placement.map_by != "auto":
        mapping = placement.map_by
    elif placement.bind_to in LARGER:
        mapping = placement.bind_to  # a rank can't be bound to more than it was mapped to
    else:
        # Dealing out over cores would refuse ranks that own several.
        mapping = "slot" if scarce or placement.hosts or placement.cores_per_rank > 1 else "core"
    modifiers = []
    binding = placement.bind_to
    if binding == "auto":
        own = "hwthread" if placement.map_by == "hwthread" else "core"
        binding = "none" if scarce and dealt else own
    if binding == "hwthread":
        modifiers.append("HWTCPUS")  # without it, cores alone count as places for ranks
    if placement.cores_per_rank > 1 and binding != "none":
        modifiers.append(f"pe={placement.cores_per_rank}")
    if placement.oversubscribe or (scarce and dealt):
        modifiers.append("OVERSUBSCRIBE")
    if placement.oversubscribe and binding != "none":
        binding += ":overload-allowed"
    options = ["--map-by", ":".join([mapping, *modifiers]), "--bind-to", binding]
    if placement.hosts:
        options += ["-H", ",".join(f"{host.name}:{host.slots}" for host in placement.hosts)]
    # An option would count for more than the variable, by which a placement can ask for something else.
    return options if POLLING in placement.environment else [*options, *MCA]


def environment(placement: Placement | None = None) -> dict[str, str]:
    """Variables for mpirun itself, for any placement. As root it refuses to start unless told twice."""
    if os.geteuid() != 0:
        return {}
    return {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


def without_mpirun() -> None:
    """Prepare a process that no mpirun started: Open MPI would leave a segment in /dev/shm behind for it, which a
    world of one doesn't need. To be called before mpi4py initialises MPI."""
    if not {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"} & os.environ.keys():
        os.environ.setdefault("OMPI_MCA_btl", "self")


def check(placement: Placement, cores: int) -> None:
    """Ask mpirun's mapper, which starts nothing, whether it takes a placement. Raises BadInput with its own words."""
    asking = ["--do-not-launch", "--display", "map", "-n", str(placement.ranks)]
    command = [launcher(), *asking, *arguments(placement, cores), "true"]
    variables = os.environ | environment()
    try:
        asked = subprocess.run(
            command, env=variables, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=MAPPED
        )
    except subprocess.TimeoutExpired:
        raise WorkshopError(f"Open MPI's mapper has not answered within {MAPPED:.0f} s.") from None
    words = miscounted(asked.stdout, placement)
    if asked.returncode != 0:
        words = refusal(asked.stdout + asked.stderr) or f"exit code {asked.returncode}"
    if words is not None:
        raise BadInput(f"{REFUSED}\n{words}")


def miscounted(output: str, placement: Placement) -> str | None:
    """What is wrong with mpirun's map (`--display map`), if it has other ranks than were asked for.

    Version 5.0.11 fills up every resource that ppr puts ranks on, also beyond their number; then the start fails with
    words that tell nobody why.
    """
    found = output.count("Data for proc:")
    if found == placement.ranks:
        return None
    each, by = placement.per_resource, placement.map_by
    return (
        f"Its mapper has made {found} ranks of {placement.ranks}: it puts {each} ranks on every {by} that gets any, "
        f"so the number of ranks should be a multiple of {each}."
        if each
        else f"Its mapper has made {found} ranks of {placement.ranks}."
    )


@dataclass(frozen=True)
class Death:
    """A rank that was ended by a signal, as its launcher tells it."""

    rank: int | None  # None where only a process is told, and perhaps not that of the first
    pid: int
    host: str
    signal: int


def death(output: str) -> Death | None:
    """Which rank died first, if mpirun's output says that one did."""
    found = _DIED.search(output)
    return Death(int(found[1]), int(found[2]), found[3], int(found[4])) if found else None


def refusal(output: str) -> str:
    """mpirun's own words on why it refused, without its rules and repetitions; the output's end if it drew none."""
    blocks = [block.strip() for block in _RULE.split(output)]
    marked = [block for index, block in enumerate(blocks) if block and index % 2 == 1]
    text = marked[0] if marked else output.strip()[-2000:]
    return "\n".join(line.rstrip() for line in text.splitlines())
