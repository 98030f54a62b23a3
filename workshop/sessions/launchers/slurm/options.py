"""What a session asks of Slurm, and the placements that fit it."""

from __future__ import annotations

import os
import re
import shutil
import socket
from collections.abc import Mapping
from typing import Any

from workshop import mpi
from workshop.core.centre import read_profile
from workshop.core.errors import BadInput
from workshop.core.placement import Placement
from workshop.sessions.launchers.site import RANKS_PER_CORE
from workshop.sessions.launchers.slurm import commands

MOST_MINUTES = 366 * 24 * 60
WAIT = 60.0  # minutes in the queue after which a session gives up, where nothing else was said
CHOOSES = (
    "Slurm chooses the hosts of its sessions; leave them out: map_by node deals ranks out over them, and a session on "
    "hosts of your own is one without --slurm."
)
# What an allocation always tells; a shell may hold some of it from elsewhere.
NEEDED = {
    f"SLURM_{name}" for name in ("JOB_ID", "JOB_NODELIST", "JOB_NUM_NODES", "TASKS_PER_NODE", "JOB_CPUS_PER_NODE")
}


def options(
    placement: Placement,
    *,
    time: str | None = None,
    nodes: str | None = None,
    wait: str | None = None,
    address: str | None = None,
    **handed_on: str | None,
) -> dict[str, Any]:
    """The site of a session in an allocation of its own; `time` and `wait` are in minutes, `address` is this machine's
    for the nodes. The centre's profile gives what the user leaves out. Raises BadInput."""
    if placement.hosts:
        raise BadInput(CHOOSES)
    profile = read_profile()
    words: dict[str, Any] = {str(name): value for name, value in profile.slurm.items()}
    words |= {name: value for name, value in handed_on.items() if value is not None}
    minutes = _number("--time", time, MOST_MINUTES, "minutes") or profile.time
    request = _shape(placement, _number("--nodes", nodes, placement.ranks, "nodes, at most one for each rank")) | words
    request |= {"time": minutes} if minutes else {}
    return {
        "kind": "slurm",
        "request": [*(f"--{name}={value}" for name, value in request.items()), *profile.options],
        "time": minutes,
        "wait": 60.0 * (_number("--wait", wait, MOST_MINUTES, "minutes") or WAIT),
        "cores": placement.ranks * placement.cores_per_rank,
        "address": address,
    }


def around() -> dict[str, str] | None:
    """Slurm's variables of the allocation in which this process was started (salloc, a batch script); None outside of
    one, and in one that is no more than this machine."""
    variables = {name: value for name, value in os.environ.items() if name.startswith("SLURM_")}
    if not variables.keys() >= NEEDED or shutil.which("squeue") is None:
        return None
    return None if variables["SLURM_JOB_NODELIST"] == socket.gethostname().partition(".")[0] else variables


def inside(allocation: Mapping[str, str]) -> dict[str, Any]:
    """The site of a session in the allocation in which it is started."""
    described = {name: value for name, value in allocation.items() if name in commands.ALLOCATION}
    tasks = commands.per_node(commands.slots(described))
    return {"kind": "slurm", "allocation": described, "time": None, "cores": sum(tasks), "address": None}


def default_placement(allocation: Mapping[str, str]) -> Placement:
    """The placement that an allocation was made for: its tasks, or a rank on each of its nodes."""
    nodes = int(allocation.get("SLURM_JOB_NUM_NODES") or 1)
    each = int(allocation.get("SLURM_CPUS_PER_TASK") or 1)
    return Placement(ranks=int(allocation.get("SLURM_NTASKS") or nodes), map_by="node", cores_per_rank=each)


def _shape(placement: Placement, nodes: int | None) -> dict[str, Any]:
    """The options of salloc for the resources that a placement needs."""
    each = placement.per_resource if placement.map_by == "node" else None
    if nodes is None and each is not None:
        nodes = -(-placement.ranks // each)
    if nodes is not None and each is None:
        each = -(-placement.ranks // nodes)
    shape = {"ntasks": placement.ranks, "cpus-per-task": placement.cores_per_rank, "hint": "nomultithread"}
    return {**shape, **({"nodes": nodes, "ntasks-per-node": each} if nodes else {})}


def _number(option: str, value: str | None, most: int, unit: str) -> int | None:
    if value is None:
        return None
    if not re.fullmatch(r"[0-9]{1,9}", value, re.ASCII) or not 1 <= int(value) <= most:
        raise BadInput(f"{option} is {value!r}: it should be a whole number from 1 to {most} ({unit}).")
    return int(value)


def check_placement(options: Mapping[str, Any], placement: Placement) -> None:
    """Refuse a placement that is too large for the session's allocation, whatever its nodes are like. Raises
    BadInput."""
    mpi.module_of(placement.mpi).launcher()
    if placement.hosts:
        raise BadInput(CHOOSES)
    cores = int(options["cores"])
    if placement.ranks > RANKS_PER_CORE * cores:
        raise BadInput(
            f"ranks is {placement.ranks}: the session's allocation of Slurm has {cores} cores, which take at most "
            f"{RANKS_PER_CORE * cores}, {RANKS_PER_CORE} per core; start a session with more ranks."
        )
    arguments(options, placement, None)


def arguments(options: Mapping[str, Any], placement: Placement, machine: Mapping[str, Any] | None) -> list[str]:
    """The launcher's options for a placement. `machine` is a node's machine; None: one with enough of everything, so
    that only impossible placements are refused. Raises BadInput."""
    chosen, cores = mpi.module_of(placement.mpi), int(options["cores"])
    return list(chosen.arguments(placement, cores, machine or _endless(placement.ranks)))


def _endless(count: int) -> dict[str, Any]:
    """A machine with so many units of every kind."""
    return {"units": [dict.fromkeys(("unit", "core", "package", "numa", "l3"), number) for number in range(count)]}
