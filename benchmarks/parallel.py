"""Every way to divide a training: against one process, against its formulas, and two ranks against one in speed."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from benchmarks import Document, document, interleaved, machine, ratio, row, say
from benchmarks.processes import run_workload

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


def run(repeats: int = 3) -> Document:
    """Measure; returns the document. Raises WorkshopError.

    Ratios: `weights_worst`, the largest relative difference from one process; `bytes_difference` from the formula;
    the shares of pipelines and of ranks that the formulas predict well; and speed-ups of two ranks.
    """
    where = machine(("numpy", "mpi4py"))
    rows, differences, unequal, near_memory, pairs_all = [], [], 0, 0, 0
    for name, (ranks, values) in CUTS.items():
        say(name)
        metrics = _metrics(ranks, {**EXACT, **values})
        both = zip(metrics["memory_planned"], metrics["memory_counted"], strict=True)
        pairs = [(sum(plan.values()), sum(count.values())) for plan, count in both]
        differences.append(metrics["weights_difference"])
        unequal += metrics["bytes_difference"]
        near_memory += sum(abs(plan - count) <= 0.05 * count for plan, count in pairs)
        pairs_all += len(pairs)
        facts = {"ranks": ranks, "bytes": metrics["bytes_per_step"], "bytes_by_formula": metrics["bytes_expected"]}
        facts |= {"memory_planned": max(plan for plan, _ in pairs), "memory_counted": max(count for _, count in pairs)}
        rows.append(row(name, [differences[-1]], "relative difference", **facts))
    near = 0
    for schedule, stages, micro in BUBBLES:
        title = f"{schedule}, {stages} stages, {micro} micro-batches"
        say(title)
        values = {"cut": f"pipeline:{stages}", "schedule": schedule, "micro_batches": micro}
        metrics = _metrics(stages, {**PACED, **values})
        near += abs(metrics["idle"] - metrics["expected_idle"]) <= 0.03
        rows.append(row(title, [metrics["idle"]], "idle share", predicted=metrics["expected_idle"], ranks=stages))
    speeds = interleaved({name: partial(_speed, ranks, cut) for name, ranks, cut in SPEEDS}, repeats)
    rows += [row(f"speed {name}", speeds[name], "examples/s", ranks=ranks) for name, ranks, _ in SPEEDS]
    rows += [ratio(f"{name}_speedup", speeds[name], speeds["one"]) for name in ("data", "tensor")]
    figures = {
        "weights_worst": max(differences),
        "bytes_difference": float(unequal),
        "bubble_within_3_points": near / len(BUBBLES),
        "memory_within_5_percent": near_memory / pairs_all,
    }
    return document(where, rows, figures)


def _metrics(ranks: int, values: Mapping[str, Any]) -> dict[str, Any]:
    return dict(run_workload("parallel", ranks, values)["metrics"])


def _speed(ranks: int, cut: str) -> float:
    return float(_metrics(ranks, {**SPEED, "cut": cut})["rate"])
