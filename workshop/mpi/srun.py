"""Slurm's srun as the launcher of ranks, which reach each other by one of its plugins for MPI: `--mpi=pmix` for Open
MPI, `--mpi=pmi2` for MPICH and Intel MPI, `--mpi=cray_shasta` for Cray's. See `workshop.mpi.system`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from workshop.core.errors import BadInput
from workshop.core.placement import Placement
from workshop.mpi.openmpi import Death

SHARES = False
PLUGINS = ("--mpi=pmix", "--mpi=pmi2", "--mpi=cray_shasta")
BINDINGS = {"hwthread": "threads", "core": "cores", "numa": "ldoms", "package": "sockets", "none": "none"}
_ERROR = re.compile(r"^srun: (?:error|fatal): (.*\S)", re.M)
_ENDED = re.compile(r"^srun: error: (\S+): tasks? (\d+)[^:]*: (Killed|Segmentation fault|Aborted)", re.M)
_SIGNALS = {"Killed": 9, "Segmentation fault": 11, "Aborted": 6}


def check(options: Sequence[str]) -> None:
    """Raises BadInput where the options that were named with srun name no plugin: every rank would be alone."""
    if not any(plugin in " ".join(options).replace("--mpi ", "--mpi=") for plugin in PLUGINS):
        raise BadInput(
            "The launcher srun is named without a plugin for MPI, so every rank would be alone; it should be like srun "
            "--mpi=pmix (for Open MPI), --mpi=pmi2 (for MPICH) or --mpi=cray_shasta; `srun --mpi=list` lists them."
        )


def arguments(placement: Placement, cores: int, machine: Mapping[str, Any] | None = None) -> list[str]:
    """srun's options for a placement, without the number of ranks. `cores` is what the allocation has; `machine`
    doesn't matter. Raises BadInput for what srun has no words for."""
    bound, by, each = placement.binding(cores), placement.map_by, placement.per_resource
    if bound not in BINDINGS:
        raise BadInput(f"srun has no words for binding to {bound}; bind_to should be {', '.join(BINDINGS)}.")
    if by not in ("auto", "slot", "node"):
        raise BadInput(f"srun has no words for ranks that are dealt out over {by}; map_by should be node or auto.")
    options = [f"--cpus-per-task={placement.cores_per_rank}", f"--cpu-bind={BINDINGS[bound]}"]
    options += [f"--ntasks-per-node={each}" if each else "--distribution=cyclic"] if by == "node" else []
    return [*options, "--overcommit"] if placement.oversubscribe or placement.scarce(cores) else options


def in_slurm() -> dict[str, str]:
    """Variables of srun in an allocation: a rank that dies ends the others, as with an MPI's own launcher."""
    return {"SLURM_KILL_BAD_EXIT": "1"}


def exports(names: Iterable[str]) -> list[str]:
    """The options that give ranks srun's variables: it gives them all."""
    return []


def assignments(variables: Mapping[str, str]) -> list[str]:
    """The words before the program that give ranks variables with these values."""
    return ["env", *(f"{name}={value}" for name, value in variables.items())]


def death(output: str) -> Death | None:
    """The rank that was killed first, if srun names one; it doesn't name the process."""
    match = _ENDED.search(output)
    return Death(int(match[2]), 0, match[1], _SIGNALS[match[3]]) if match else None


def early_exit(output: str) -> tuple[int, int] | None:
    """Which rank ended first by itself: srun's own words say it."""
    return None


def refuses(output: str) -> bool:
    """Whether srun gave a reason of its own for its end."""
    return _ERROR.search(output) is not None


def refusal(output: str) -> str:
    """srun's own words on its refusal; the end of the output where there are none."""
    return "\n".join(dict.fromkeys(_ERROR.findall(output))) or output.strip()[-2000:]
