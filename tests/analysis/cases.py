"""Runs as the store hands them out, for tables of cases."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from workshop.store.records import RunRecord


def machine(cores: int, packages: int = 1, hardware_threads: int = 1, host: str = "laptop") -> dict[str, Any]:
    """A machine as Linux numbers it: the second hardware threads of all cores come behind all first ones."""
    units = [
        {
            "unit": thread * cores + core,
            "core": core,
            "package": core * packages // cores,
            "numa": core * packages // cores,
            "l3": core * packages // cores,
        }
        for thread in range(hardware_threads)
        for core in range(cores)
    ]
    return {"host": host, "model": "Test CPU", "memory_bytes": 24 << 30, "units": units}


def rank_map(*allowed: Sequence[int], host: str = "laptop", seen: Sequence[Sequence[int]] = ()) -> dict[str, Any]:
    """A measured rank map from each rank's allowed units (and the units that its thread was seen on)."""
    ranks = [
        {
            "rank": rank,
            "host": host,
            "local_rank": rank,
            "pid": 1000 + rank,
            "units": list(units),
            "cores": list(units),
            "packages": [0],
            "numa": [0],
            "threads": [{"tid": 1000 + rank, "name": "python", "units_seen": list(seen[rank])}] if seen else [],
        }
        for rank, units in enumerate(allowed)
    ]
    return {"measured": True, "ranks": ranks}


def times(
    compute: Sequence[float], communicate: Sequence[float] = (), wait: Sequence[float] = (), steps: int = 20
) -> dict[str, dict[int, tuple[int, float]]]:
    """Totals of the phases, seconds by rank."""
    phases = {"time.compute": compute, "time.communicate": communicate, "time.wait": wait}
    return {
        name: {rank: (steps, seconds) for rank, seconds in enumerate(told)} for name, told in phases.items() if told
    }


def run(**changes: Any) -> RunRecord:
    """A completed run of two ranks on a machine of two cores, unless told otherwise."""
    values: dict[str, Any] = {
        "id": 7,
        "session_id": 1,
        "session": "demo",
        "workload": "kmeans",
        "status": "completed",
        "params": {"clusters": 16},
        "placement": {"mpi": "openmpi", "ranks": 2, "cores_per_rank": 1, "threads": None},
        "submitted_by": "",
        "identity_id": None,
        "measured": False,
        "rank_map": rank_map([0], [1]),
        "machine": machine(2),
        "metrics": {},
        "verdict": None,
        "error": None,
        "notices": [],
        "progress": (20.0, 20.0),
        "queued_at": 1000.0,
        "started_at": 1001.0,
        "finished_at": 1006.0,
        "cancel_requested": False,
    }
    return RunRecord(**values | changes)
