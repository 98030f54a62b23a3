"""Open MPI 5: its command line, its relevant defaults, and its messages when it refuses or a rank dies."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

import psutil

from workshop.core.environment import own_folder
from workshop.core.errors import BadInput
from workshop.core.placement import POLLING, Placement

# Ranks that poll without yielding take a whole core from those who work; yielding is worth up to a third of the
# throughput where ranks and cores are even, and far more where ranks outnumber cores.
MCA = ("--mca", "mpi_yield_when_idle", "1")

FORWARDS = False  # ranks on other hosts get the variables that are exported to them, no others
SHARES = False
# Over a network, ranks notice the end of another one before mpirun does, abort, and are blamed for it: they should wait
# so many seconds.
PATIENT = {"OMPI_MCA_opal_abort_delay": "2"}
# A daemon asks its mpirun for a sign of life after so many seconds of silence, every so many seconds, so many times:
# without that, it would stay on a host that is cut off.
KEEPALIVE = {
    "PRTE_MCA_oob_tcp_keepalive_time": "2",
    "PRTE_MCA_oob_tcp_keepalive_intvl": "1",
    "PRTE_MCA_oob_tcp_keepalive_probes": "3",
}

# Where there is no fabric for it, the transport over libfabric sleeps a second as it is put away: in every MPI_Init.
# Fabrics that matter are reached past it, by UCX and by libfabric's own matching.
WITHOUT = {"OMPI_MCA_btl": "^ofi"}
TOLERANT = "OMPI_MCA_mpi_ft_enable"  # what mpirun --with-ft ulfm sets for its ranks
# Settings of ranks that can be lost. Where new ones have joined, ranks disagree on who is on their host, and so on
# whether to use the hierarchical collectives: they would wait for ever. Some ranks would also wait for ever in
# MPI_Finalize, at a fence with lost ranks.
SURVIVAL = {"OMPI_MCA_coll": "^han", "OMPI_MCA_async_mpi_finalize": "1"}
# Within one machine: shared memory alone, so that ranks listen on no port.
ALONE = {"OMPI_MCA_btl": "self,sm"}

# What it says where the folder of a killed mpirun is in its way, on another host or another user's: see `clear_way`.
PASSING = "PMIx server's listener thread failed to start"
GOING = ".workshop-removes-"  # begins the names of folders that are being removed
LARGER = ("l3cache", "numa", "package")  # than a core
_DIED = re.compile(r"process rank (\d+) with PID (\d+) on node (\S+)\s+exited\s+on\s+signal\s+(\d+)")
_EXITED = re.compile(r"exited with non-zero status.*?Process name: \[[^\]]*,(\d+)\]\s+Exit code:\s+(\d+)", re.S)
_RULE = re.compile(r"^-{20,}\s*$", re.M)


def launcher() -> str:
    """The environment's own mpirun, with its way cleared: another Open MPI's would start worlds of size 1. Raises
    BadInput."""
    mpirun = Path(sys.prefix) / "bin" / "mpirun"
    if not mpirun.exists():
        raise BadInput(f"Open MPI's mpirun is not in {mpirun.parent}; install the package openmpi there.")
    clear_way()
    return str(mpirun)


def version() -> str | None:
    """The version of the environment's package."""
    return metadata.version("openmpi")


def clear_way() -> None:
    """Remove the files that our killed mpiruns have left in the temporary folder.

    An mpirun with process number P keeps contact files in `ompi.P` and starts only where there are none. So leftovers
    would keep a later mpirun with the same number from starting. PMIx 6 takes them over; 5 doesn't.
    """
    base, host = Path(tempfile.gettempdir()), socket.gethostname().split(".")[0]
    for half in base.glob(f"{GOING}ompi.*"):  # whoever removed that was killed
        shutil.rmtree(half, ignore_errors=True)
    for leftover in base.glob("ompi.*"):
        number = leftover.name.removeprefix("ompi.")
        of_this_host = (f"pmix.{host}.*{number}", f"pmix.{host}.*-{number}@*")
        if number.isdecimal() and any(any(leftover.glob(contact)) for contact in of_this_host):
            remove_left(int(number))


def remove_left(number: int) -> None:
    """Remove the files of the mpirun with that process number from this host's temporary folder, unless the process
    lives."""
    leftover = Path(tempfile.gettempdir()) / f"ompi.{number}"
    with contextlib.suppress(OSError):  # another one was faster
        if not (psutil.pid_exists(number) or leftover.is_symlink()) and leftover.stat().st_uid == os.geteuid():
            # At once, so that no mpirun begins in a folder that is half removed.
            gone = leftover.rename(leftover.with_name(f"{GOING}{leftover.name}.{uuid.uuid4().hex}"))
            shutil.rmtree(gone, ignore_errors=True)


def arguments(placement: Placement, cores: int, machine: Mapping[str, Any] | None = None) -> list[str]:
    """mpirun's options for a placement, without the number of ranks.

    `cores` is what the machine has; it decides what `auto` means and whether to allow more ranks than cores. `machine`
    doesn't matter: the mapper looks for itself.
    """
    scarce = placement.scarce(cores)
    dealt = placement.per_resource is None  # over something, without a number for each
    if placement.per_resource is not None:
        # More on each than there are at all would be the same, but makes the mapper miscount them; not those of hosts.
        most = placement.per_resource if placement.map_by == "node" else placement.ranks
        mapping = f"ppr:{min(placement.per_resource, most)}:{placement.map_by}"
    elif placement.map_by != "auto":
        mapping = placement.map_by
    elif placement.bind_to in LARGER:
        mapping = placement.bind_to  # a rank can't be bound to more than it was mapped to
    else:
        # Dealing out over cores would refuse ranks that own several.
        mapping = "slot" if scarce or placement.hosts or placement.cores_per_rank > 1 else "core"
    modifiers = []
    binding: str = placement.binding(cores)
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


def exports(names: Iterable[str]) -> list[str]:
    """The options that give ranks variables of mpirun's."""
    return [word for name in names for word in ("-x", name)]


def assignments(variables: Mapping[str, str]) -> list[str]:
    """The options that give ranks variables with these values."""
    return exports(f"{name}={value}" for name, value in variables.items())


def over_ssh(program: str, options: Sequence[str]) -> dict[str, str]:
    """Variables by which mpirun reaches other hosts with a program that has ssh's words, and with these options."""
    return {
        **PATIENT,
        "PRTE_MCA_plm_ssh_agent": program,
        "PRTE_MCA_plm_ssh_args": " ".join(options),
        # Every host is reached from here: the loss of one says nothing about another.
        "PRTE_MCA_plm_ssh_no_tree_spawn": "1",
        **KEEPALIVE,
    }


def in_slurm() -> dict[str, str]:
    """Variables by which mpirun starts its daemons with srun. It finds out by itself that there is an allocation."""
    return dict(PATIENT)


def environment(placement: Placement | None = None) -> dict[str, str]:
    """Variables for mpirun itself, for any placement; a user's own settings of transports stay. As root, mpirun refuses
    to start unless two variables allow it."""
    transports = {name: value for name, value in WITHOUT.items() if name not in os.environ}
    if os.geteuid() != 0:
        return transports
    return {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", **transports}


def alone() -> dict[str, str]:
    """Variables for ranks that are all on this machine: they use shared memory alone."""
    return dict(ALONE)


def tolerance(variables: Mapping[str, str]) -> tuple[list[str], dict[str, str]]:
    """The options with which ranks can go on after others have died (ULFM, User-Level Failure Mitigation), and what to
    change in mpirun's variables: new ranks can't reach the old ones over shared memory."""
    reached = variables.get("OMPI_MCA_btl") == ALONE["OMPI_MCA_btl"]
    loopback = {"OMPI_MCA_btl": "self,sm,tcp", "OMPI_MCA_btl_tcp_if_include": "127.0.0.0/8"}
    return ["--with-ft", "ulfm"], SURVIVAL | (loopback if reached else {})


def tolerates() -> bool:
    """Whether mpirun has started this process so that it can go on after others have died."""
    return os.environ.get(TOLERANT, "").lower() in ("1", "true")


def prepare() -> None:
    """Prepare this process, before mpi4py initialises MPI. A process that can go on after others have died gets
    `SURVIVAL`, whoever has called mpirun, also in place of the user's own choice of collectives. For a process that no
    mpirun started, Open MPI would leave a segment in /dev/shm behind, which a world of one doesn't need."""
    if tolerates():
        os.environ.update(SURVIVAL)
    if not {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"} & os.environ.keys():
        os.environ.update({name: "self" for name, value in WITHOUT.items() if os.environ.get(name, value) == value})


def passing(words: str) -> bool:
    """Whether mpirun says that it did not come up at all, for a reason that is gone with another process number."""
    return PASSING in words


def asked_twice(
    command: Sequence[str], variables: Mapping[str, str], seconds_left: Callable[[], float]
) -> subprocess.CompletedProcess[str]:
    """Run an mpirun that launches nothing; once more where it did not come up, or has not answered in half of
    `seconds_left()`. Raises subprocess.TimeoutExpired where it doesn't answer then, either."""

    def ask(seconds: float) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command,
            env=variables,
            cwd=own_folder(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=max(seconds, 0),
        )

    with contextlib.suppress(subprocess.TimeoutExpired):
        completed = ask(seconds_left() / 2)
        if not passing(completed.stdout + completed.stderr):
            return completed
    return ask(seconds_left())


def miscounted(output: str, placement: Placement) -> str | None:
    """The fault of mpirun's map (`--display map`) where it has another number of ranks than was asked for.

    With ppr, version 5.0.11 fills every resource, also beyond the number of ranks. Then the start fails with a message
    that explains nothing.
    """
    rank_count = output.count("Data for proc:")
    each, by = placement.per_resource, placement.map_by
    if rank_count == placement.ranks or each is None:
        return None
    return (
        f"Its mapper has made {rank_count} ranks of {placement.ranks}: it puts {each} ranks on every {by} that gets "
        f"any, so the number of ranks should be a multiple of {each}."
    )


@dataclass(frozen=True)
class Death:
    """A rank that was ended by a signal, as its launcher tells it."""

    rank: int | None  # None where the output names only a process, which may not be the first one
    pid: int
    host: str
    signal: int


def death(output: str) -> Death | None:
    """The rank that died first, if mpirun's output names one."""
    match = _DIED.search(output)
    return Death(int(match[1]), int(match[2]), match[3], int(match[4])) if match else None


def early_exit(output: str) -> tuple[int, int] | None:
    """The rank that ended first by itself, if mpirun's output names one: its number and exit code."""
    match = _EXITED.search(output)
    return (int(match[1]), int(match[2])) if match else None


def refuses(output: str) -> bool:
    """Whether mpirun gave a reason of its own for its end. Output of the ranks is no such reason."""
    return len(_RULE.findall(output)) > 1


def refusal(output: str) -> str:
    """mpirun's own words on its refusal, without rules and repetitions; the end of the output where there are none."""
    blocks = [block.strip() for block in _RULE.split(output)]
    marked = [block for index, block in enumerate(blocks) if block and index % 2 == 1]
    text = marked[0] if marked else output.strip()[-2000:]
    return "\n".join(line.rstrip() for line in text.splitlines())
