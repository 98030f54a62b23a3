"""Every cut against one process and against its formulas, and two ranks against one in speed."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from workshop import bench
from workshop.bench.crew import run_workload

SECONDS = 300.0  # of one run at most
EXACT = {"steps": 50, "width": 16, "heads": 4, "blocks": 2, "length": 8, "batch": 16}
IMAGES = {"network": "convolutional", "width": 8, "blocks": 3, "image": 16}
CUTS: Mapping[str, tuple[int, Mapping[str, Any]]] = {
    "data": (2, {}),
    "data per tensor": (2, {"exchange": "per-tensor"}),
    "data in buckets": (2, {"exchange": "buckets", "bucket": 8192}),
    "ZeRO 1": (2, {"zero": 1}),
    "ZeRO 2": (2, {"zero": 2}),
    "ZeRO 3": (2, {"zero": 3}),
    "tensor": (2, {"cut": "tensor:2"}),
    "sequence": (2, {"cut": "sequence:2"}),
    "spatial": (2, {"cut": "spatial:2", **IMAGES}),
    "channel": (2, {"cut": "channel:2", **IMAGES}),
    "experts": (2, {"cut": "experts:2", "experts": 4}),
    "recomputation": (2, {"recompute": True}),
    "pipeline, tied": (2, {"cut": "pipeline:2", "tied": True}),
    "pipeline and tensor": (4, {"cut": "pipeline:2,tensor:2"}),
    "data and tensor, ZeRO 3": (4, {"cut": "tensor:2", "zero": 3}),
    "data and pipeline": (4, {"cut": "pipeline:2"}),
}
# Paced, so that a core more or fewer makes no difference: 2 to 4 stages, 2 to 16 micro-batches.
BUBBLES = [
    (schedule, stages, micro)
    for schedule in ("naive", "gpipe", "1f1b", "interleaved")
    for stages in (2, 3, 4)
    for micro in (2, 4, 8, 16)
    if schedule != "interleaved" or micro % stages == 0
]
PACED = {"steps": 2, "width": 8, "heads": 2, "blocks": 4, "length": 4, "batch": 16, "pace": 0.02, "verify": "no"}
SPEED = {"steps": 8, "verify": "no"}
SPEEDS = (("one", 1, ""), ("data", 2, ""), ("tensor", 2, "tensor:2"))


def run(repeats: int = 3, progress: bench.Progress = lambda done, total: None) -> dict[str, Any]:
    """Measure, while the caller holds the machine for measuring; returns the bench as JSON. Raises WorkshopError.

    Ratios: `weights_worst`, the largest relative difference of a weight from one process after 50 steps in float64;
    `bytes_difference` of all ranks and cuts, in bytes; `bubble_within_3_points`, the share of pipelines whose idle time
    is that near to the prediction; `memory_within_5_percent`, the share of ranks whose counted memory is that near to
    the plan; `data_speedup` and `tensor_speedup` of two ranks against one, by examples per second.
    """
    where = bench.machine(("numpy", "mpi4py"))
    rows, differences, unequal, ranks_near, ranks_all = [], [], 0, 0, 0
    before = len(CUTS) + len(BUBBLES)
    total = before + len(SPEEDS) * (repeats + 1)  # a round warms up
    for done, (name, (ranks, values)) in enumerate(CUTS.items()):
        progress(done, total)
        metrics = _trained(name, ranks, {**EXACT, **values})
        pairs = [
            (sum(plan.values()), sum(count.values()))
            for plan, count in zip(metrics["memory_planned"], metrics["memory_counted"], strict=True)
        ]
        differences.append(metrics["weights_difference"])
        unequal += metrics["bytes_difference"]
        ranks_near += sum(abs(plan - count) <= 0.05 * count for plan, count in pairs)
        ranks_all += len(pairs)
        rows.append(
            bench.row(name, [metrics["weights_difference"]], "relative difference", ranks=ranks)
            | {"bytes": metrics["bytes_per_step"], "bytes_by_formula": metrics["bytes_expected"]}
            | {"memory_planned": max(plan for plan, _ in pairs), "memory_counted": max(count for _, count in pairs)}
        )
    near = 0
    for done, (schedule, stages, micro) in enumerate(BUBBLES, len(CUTS)):
        progress(done, total)
        values = {"cut": f"pipeline:{stages}", "schedule": schedule, "micro_batches": micro}
        metrics = _trained(f"{schedule} {stages} x {micro}", stages, {**PACED, **values})
        near += abs(metrics["idle"] - metrics["expected_idle"]) <= 0.03
        row = bench.row(f"{schedule}, {stages} stages, {micro} micro-batches", [metrics["idle"]], "idle share")
        rows.append(row | {"predicted": metrics["expected_idle"], "ranks": stages})
    contenders = {name: partial(_speed, name, ranks, cut) for name, ranks, cut in SPEEDS}
    speeds = bench.interleaved(contenders, repeats, lambda done, _: progress(before + done, total))
    rows += [bench.row(f"speed {name}", speeds[name], "examples/s", ranks=ranks) for name, ranks, _ in SPEEDS]
    lines = {f"{name}_speedup": bench.ratio(name, speeds[name], speeds["one"]) for name in ("data", "tensor")}
    ratios = {
        "weights_worst": max(differences),
        "bytes_difference": float(unequal),
        "bubble_within_3_points": near / len(BUBBLES),
        "memory_within_5_percent": ranks_near / ranks_all,
        **{name: line["value"] for name, line in lines.items()},
    }
    return bench.document("parallel", where, rows, ratios)


def _trained(name: str, ranks: int, values: Mapping[str, Any]) -> dict[str, Any]:
    """The metrics of a run by mpirun."""
    metrics: dict[str, Any] = run_workload(name, "parallel", ranks, values, SECONDS)["metrics"]
    return metrics


def _speed(name: str, ranks: int, cut: str) -> float:
    return float(_trained(name, ranks, {**SPEED, "cut": cut})["rate"])
