"""Points of the tuner: what it may set of a placement and of a workload's params. Pure.

A point says where a placement is in the space, by the names that a study's grid has: fields of a placement,
`env.NAME` for a variable of the ranks, and params of the workload. Only what matters is part of it: one rank has
nobody to yield to and nothing to ask of an MPI, and a cycle time means nothing without Horovod. So two points never
come to the same.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from workshop import registry
from workshop.core import words
from workshop.core.placement import POLLING, USUAL_MPI, Placement
from workshop.study.tune.spots import Spot

CYCLE = "HOROVOD_CYCLE_TIME"  # milliseconds between Horovod's looks for work; 1 unless somebody sets it
CYCLES = (None, "0.2", "5")
YIELDS = ("1", "0")  # Open MPI's ranks yield their core while they wait, or poll
# Exchanges that do the same where there is nobody to exchange with; the first of them stands for all.
ALONE = ("mpi", "mpi-per-tensor", "parameter-server", "none")
Point = dict[str, Any]
FIELDS = ("mpi", "ranks", "map_by", "bind_to", "cores_per_rank", "threads")


def plain(spot: Spot, threads: int, chosen: Mapping[str, Any], yields: str, cycle: str | None) -> Point:
    """A point whose values without effect have their defaults, so that equal placements are equal points."""
    point: Point = {**spot.fields, "threads": threads, **chosen}
    exchange = chosen.get("exchange")
    if spot.ranks == 1 and exchange in ALONE:
        point["exchange"] = ALONE[0]
    point[f"env.{POLLING}"] = yields if registry.mpi(spot.mpi).waiting == "variable" and spot.ranks > 1 else YIELDS[0]
    point[f"env.{CYCLE}"] = cycle if exchange == "horovod" else None
    return point


def fits(spot: Spot, chosen: Mapping[str, Any]) -> bool:
    """Whether a workload's knobs go with an MPI: Horovod is linked to Open MPI, daal4py to MPICH's kind."""
    if chosen.get("exchange") == "horovod" and spot.mpi != "openmpi":
        return False
    return not (chosen.get("backend") == "daal4py" and spot.mpi == "openmpi")


def placed(point: Mapping[str, Any], base: Mapping[str, Any]) -> Placement:
    """The placement at a point."""
    environment = {**base.get("environment", {})}
    for name, value in point.items():
        if not name.startswith("env.") or value is None or (name == f"env.{POLLING}" and value == YIELDS[0]):
            continue  # what holds without being said
        environment[name.removeprefix("env.")] = value
    return Placement.parse({**base, **{name: point[name] for name in FIELDS}, "environment": environment})


def chosen_params(point: Mapping[str, Any]) -> dict[str, Any]:
    """The workload's params at a point."""
    return {name: value for name, value in point.items() if name not in FIELDS and not name.startswith("env.")}


def key(point: Mapping[str, Any]) -> str:
    """A point as a key: equal keys are the same point."""
    return json.dumps(dict(point), sort_keys=True)


def label(point: Mapping[str, Any]) -> str:
    """A point in a few words: where its ranks are, and what is unusual about the rest."""
    parts = [f"{words.count(point['ranks'], 'rank')} x {words.count(point['threads'], 'thread')}"]
    own = point["cores_per_rank"]
    if point["bind_to"] == "none":
        parts.append("unbound")
    elif own > 1:
        parts.append(f"{own} cores each")
    else:
        by = f" by {point['map_by']}" if point["map_by"] not in ("auto", point["bind_to"]) else ""
        parts.append(f"bound to {point['bind_to']}{by}")
    parts += [str(value) for value in chosen_params(point).values()]
    if point["mpi"] != USUAL_MPI:
        parts.append(point["mpi"])
    if point.get(f"env.{POLLING}") == "0":
        parts.append("polling")
    if cycle := point.get(f"env.{CYCLE}"):
        parts.append(f"cycle {cycle} ms")
    return ", ".join(parts)
