"""Where the steps put their ranks, and with which settings. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from workshop.core.placement import POLLING, Placement

OMP = "OMP_NUM_THREADS"
INTER, INTRA = "TF_NUM_INTEROP_THREADS", "TF_NUM_INTRAOP_THREADS"
MPI_NAMES = {"openmpi": "Open MPI", "mpich": "MPICH", "intelmpi": "Intel MPI"}

AS_FOUND = "as found"
INTELS = "KMP_*, I_MPI_*"
BINDING = "other binding"
POLLS = "polling"
CYCLE = "short cycle"
APART = "no fusion"
# Six sets of settings: the article's table isn't in its text, so these are ours. Its three variables are one of them.
SETS: Mapping[str, str] = {
    AS_FOUND: "nothing else set: ranks keep to their cores, and yield while they wait",
    INTELS: "KMP_BLOCKTIME=1, KMP_AFFINITY=granularity=fine,compact,1,0 and I_MPI_PIN_DOMAIN=core, as Intel's own "
    "libraries read them",
    BINDING: "ranks that keep to their cores may run on any (--bind-to none), others are bound to a core each "
    "(--bind-to core)",
    POLLS: "ranks that wait keep asking instead of yielding (mpi_yield_when_idle 0)",
    CYCLE: "Horovod looks for work every 0.1 ms instead of every 1 ms (HOROVOD_CYCLE_TIME=0.1)",
    APART: "Horovod exchanges each gradient by itself (HOROVOD_FUSION_THRESHOLD=0)",
}
_VARIABLES: Mapping[str, Mapping[str, str]] = {
    INTELS: {"KMP_BLOCKTIME": "1", "KMP_AFFINITY": "granularity=fine,compact,1,0", "I_MPI_PIN_DOMAIN": "core"},
    POLLS: {POLLING: "0"},
    CYCLE: {"HOROVOD_CYCLE_TIME": "0.1"},
    APART: {"HOROVOD_FUSION_THRESHOLD": "0"},
}


def naive(cores: int) -> Placement:
    """The naive start: what `mpirun -n 1` makes of a program that takes as many threads as there are cores. mpirun
    binds the rank to one core, on which all these threads take turns."""
    return Placement(ranks=1, map_by="core", bind_to="core", threads=cores)


def place(ranks: int, threads: int, cores: int) -> Placement:
    """Ranks with a core of their own for each thread where there are as many, else on all cores together."""
    if ranks * threads <= cores:
        return Placement(ranks=ranks, cores_per_rank=threads, threads=threads)
    return Placement(ranks=ranks, threads=threads, bind_to="none", oversubscribe=ranks > cores)


def with_variables(placement: Placement, variables: Mapping[str, str]) -> Placement:
    """The placement with these variables set on its ranks."""
    return placement.model_copy(update={"environment": dict(sorted({**placement.environment, **variables}.items()))})


def with_set(placement: Placement, name: str) -> Placement:
    """The placement with one of `SETS`."""
    if name == BINDING:
        return placement.model_copy(update={"bind_to": "core" if placement.bind_to == "none" else "none"})
    return with_variables(placement, _VARIABLES.get(name, {}))


def key(params: Mapping[str, Any], placement: Mapping[str, Any]) -> str:
    """What is the same for trials that do the same: params, and the placement with all variables that its ranks see,
    however they came to be set."""
    where = Placement.parse(placement)
    told = where.as_json() | {"environment": where.rank_environment(), "threads": None}
    return json.dumps([dict(params), told], sort_keys=True)


def short(placement: Mapping[str, Any]) -> str:
    """Ranks and threads in a few characters: 2 x 1."""
    where = Placement.parse(placement)
    return f"{where.ranks} x {where.threads_per_rank}"
