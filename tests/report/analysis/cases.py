"""Runs as the store hands them out, for tables of cases."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from workshop.store.records import RunRecord, Total


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
    compute: Sequence[float],
    communicate: Sequence[float] = (),
    wait: Sequence[float] = (),
    input: Sequence[float] = (),
    steps: int = 20,
) -> dict[str, dict[int, Total]]:
    """Totals of the phases, seconds by rank."""
    phases = {"time.compute": compute, "time.communicate": communicate, "time.wait": wait, "time.input": input}
    return {
        name: {rank: Total(steps, seconds) for rank, seconds in enumerate(told)}
        for name, told in phases.items()
        if told
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


RECIPE: dict[str, Any] = {
    "data": "digits",
    "exchange": "auto",
    "epochs": 8,
    "batch": 64,
    "rate": None,
    "broadcast": True,
    "shard": True,
    "divide": True,
    "average": True,
    "scale": "linear",
    "warmup": 1,
    "checkpoint": "rank0",
    "optimizer": "momentum",
    "resume": "",
    "steps": None,
}


def metrics(ranks: int = 2, **changes: Any) -> dict[str, Any]:
    """What a training run of the digits tells when nothing is wrong: 100 measured steps of 13 ms."""
    told: dict[str, Any] = {
        "data": "scikit-learn's digits, scaled to 28x28",
        "train_images": 1437,
        "held_out_images": 360,
        "exchange": "horovod",
        "exchange_why": "as asked for",
        "model": "cnn",
        "parameters": 225034,
        "epochs": 8,
        "updates": 102,
        "stopped": False,
        "loss": 0.08,
        "held_out_loss": 0.1,
        "held_out_accuracy": 0.972,
        "held_out_accuracy_ranks": [0.972] * ranks,
        "target": 0.95,
        "time_to_target": 0.61,
        "epochs_to_target": 3,
        "images_per_second": 9812.3,
        "images_per_second_deviation": 40.0,
        "images_per_second_ranks": [9812.3 / ranks] * ranks,
        "measured_steps": 100,
        "phases": {
            "input": [0.02] * ranks,
            "compute": [1.1] * ranks,
            "communicate": [0.15] * ranks,
            "wait": [0.03] * ranks,
        },
        "last": [100 // ranks] * ranks,
        "late_by": [0.0006] * ranks,
        "bytes_per_step": 900136,
        "messages_per_step": 1,
        "spread_before": 0.7,
        "spread": 0.0,
        "weights": ["abc"] * ranks,
        "images_read": 1437,
        "distinct_images": 1437,
        "checkpoints": {"written": 8, "kept": 8, "bytes": 8 * 2_700_000, "differ": False},
        "resumed": None,
        "learning_rate": 0.02 * ranks,
        "seconds": {"prepare": 1.0, "train": 1.42, "evaluate": 0.1, "checkpoint": 0.1},
    }
    return told | changes


def trained(ranks: int = 2, told: dict[str, Any] | None = None, **params: Any) -> RunRecord:
    """A completed training run on a machine with a core for every rank: `params` and what is `told` differ from one in
    which nothing is wrong."""
    return run(
        workload="mnist",
        params=RECIPE | params,
        placement={"mpi": "openmpi", "ranks": ranks, "cores_per_rank": 1, "threads": None},
        rank_map=rank_map(*([rank] for rank in range(ranks))),
        machine=machine(ranks),
        metrics=metrics(ranks, **(told or {})),
    )
