"""Where steps put their ranks, and which trials do the same. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from workshop.core.placement import Placement


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


def key(params: Mapping[str, Any], placement: Mapping[str, Any]) -> str:
    """What is the same for trials that do the same: params, and the placement with all variables that its ranks see,
    however they came to be set."""
    where = Placement.parse(placement)
    told = where.as_json() | {"environment": where.rank_environment(), "threads": None}
    return json.dumps([dict(params), told], sort_keys=True)
