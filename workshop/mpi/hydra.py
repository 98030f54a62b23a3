"""Hydra, which starts the ranks of MPICH and of Intel MPI: what both say when a rank dies, and when they refuse."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from workshop.core import topology, words
from workshop.core.errors import BadInput
from workshop.core.placement import Placement
from workshop.mpi import prefix
from workshop.mpi.openmpi import Death

# This signal ends the other ranks of a job, so that they differ from the rank that died by itself. Linux never sends
# it, and it ends a process.
CLEANED_UP = 16
FORWARDS = True
SHARES = True

_INTEL = re.compile(r"RANK (\d+) PID (\d+) RUNNING AT (\S+)\s+=\s+KILLED BY SIGNAL: (\d+)")
_MPICH = re.compile(r"PID (\d+) RUNNING AT (\S+).*?TERMINATED WITH THE EXIT STRING: [^\n]*\(signal (\d+)\)", re.S)
_MESSAGE = re.compile(r"^\[(?:mpiexec|proxy:\S*)@\S+\] (?:\w+ \([^)]*:\d+\): )?(?P<words>.*\S)", re.M)


def folder(name: str, title: str) -> Path:
    """Where `workshop mpi install` has put an MPI. Raises BadInput where it hasn't."""
    installed_folder = prefix.installed().get(name)
    if installed_folder is None:
        raise BadInput(f"{title} is not installed; `workshop mpi install {name}` does that.")
    return installed_folder


def launcher(name: str, title: str) -> str:
    """The mpiexec in an MPI's prefix. Raises BadInput where the MPI isn't installed."""
    return prefix.launcher(folder(name, title))


def version(name: str, title: str) -> str | None:
    """The version in an MPI's prefix. Raises BadInput where the MPI isn't installed."""
    return prefix.version(folder(name, title))


def check(placement: Placement, cores: int, title: str, machine: Mapping[str, Any] | None = None) -> None:
    """Refuse what no Hydra has words for. Raises BadInput with one sentence."""
    by, each, bound = placement.map_by, placement.per_resource, placement.binding(cores)
    if placement.cores_per_rank > 1 and bound not in ("core", "none"):
        raise BadInput(
            f"{title} can't bind a rank to {placement.cores_per_rank} cores and to {bound} at once; "
            "bind_to should be core, or cores_per_rank 1."
        )
    if by == "node" and placement.hosts and not placement.oversubscribe:
        _deal(placement, title)
    if each is None or by == "node":
        return
    if each > 1:
        raise BadInput(
            f"{title} has no words for {each} ranks per {by}; per_resource should be 1, or map_by node, "
            "or the MPI Open MPI."
        )
    ranks = max((host.slots for host in placement.hosts), default=placement.ranks)
    resources = count(by, machine)
    if ranks > resources:
        raise BadInput(
            f"{title} has no words for at most one rank per {by}: of {ranks} ranks on a host some would share one, "
            f"since it has {resources}; take as many ranks, or leave per_resource out."
        )


def _deal(placement: Placement, title: str) -> None:
    """Refuse ranks dealt out over hosts beyond a host's slots, which Hydra doesn't heed then. Raises BadInput."""
    hosts, each = placement.hosts, placement.per_resource or 1
    for number, host in enumerate(hosts):
        got = sum(rank // each % len(hosts) == number for rank in range(placement.ranks))
        if got > host.slots:
            raise BadInput(
                f"{title} would deal {got} ranks to {host.name}, which has {words.count(host.slots, 'slot')}: it takes "
                "all hosts in turn, whatever their slots; take fewer ranks, or leave map_by out."
            )


def count(resource: str, machine: Mapping[str, Any] | None) -> int:
    """How many of a resource a machine has; None: this one."""
    key = {"l3cache": "l3", "hwthread": "unit"}.get(resource, resource)
    return len({unit[key] for unit in (machine or topology.machine())["units"]})


def per_host(placement: Placement) -> list[str]:
    """How many ranks a host gets before the next host's turn, where that isn't the number of its slots."""
    if placement.map_by != "node":
        return []
    return ["-ppn", str(placement.per_resource or 1)]


def exports(names: Iterable[str]) -> list[str]:
    """The options that give ranks these variables of mpiexec's, and no others."""
    return ["-genvlist", ",".join(names)]


def assignments(variables: Mapping[str, str]) -> list[str]:
    """The options that give ranks variables with these values."""
    return [word for name, value in variables.items() for word in ("-genv", name, value)]


def environment(name: str, title: str) -> dict[str, str]:
    """The variables with which ranks load the launcher's MPI. Raises BadInput where that isn't installed."""
    return prefix.environment(folder(name, title))


def death(output: str) -> Death | None:
    """Which rank died first, if Hydra's output says that one did.

    Intel MPI lists all ranks, also those that it ended itself. MPICH names a single process, which may be one that it
    ended itself; then `rank` is None.
    """
    for match in _INTEL.finditer(output):
        if int(match[4]) != CLEANED_UP:
            return Death(int(match[1]), int(match[2]), match[3], int(match[4]))
    if (mpich := _MPICH.search(output)) and "RANK" not in mpich[0]:
        return Death(None, int(mpich[1]), mpich[2], int(mpich[3]))
    return None


def early_exit(output: str) -> tuple[int, int] | None:
    """Which rank ended first by itself: Hydra doesn't say."""
    return None


def refuses(output: str) -> bool:
    """Whether Hydra gave a reason of its own for its end; what ranks printed is none."""
    return _MESSAGE.search(output) is not None


def refusal(output: str) -> str:
    """Hydra's own words on why it refused: the first that it said, from which all others follow; the output's end
    where it said none."""
    match = _MESSAGE.search(output)
    return match["words"] if match else output.strip()[-2000:]
