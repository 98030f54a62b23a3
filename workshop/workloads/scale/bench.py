"""Predictions against measurements: published curves of a machine left out, and what-ifs that this machine runs."""

from __future__ import annotations

import os
import statistics
import sys
from collections.abc import Mapping
from typing import Any

from workshop import bench
from workshop.bench.crew import once
from workshop.core.placement import POLLING, Placement
from workshop.mpi import openmpi
from workshop.workloads.scale import WORKLOAD, StepParams, published
from workshop.workloads.scale.calibration import StepMeasurement
from workshop.workloads.scale.step import predict
from workshop.workloads.scale.whatif import BASE, BASE_RANKS, combinations

SECONDS = 180.0  # for a run
STEPS = 40


def run(changes: int = 60, progress: bench.Progress = lambda done, total: None) -> dict[str, Any]:
    """Measure, while the caller holds the machine for measuring; returns the bench as JSON. Raises WorkshopError."""
    where = bench.machine(("numpy", "mpi4py"))
    points = [point for _, of_machine in published.left_out() for point in of_machine]
    rows = [
        bench.row(f"{point.curve} on {point.prediction.workers}", [point.error], "relative error")
        | {"measured": point.measured, "predicted": point.prediction.rate, "inside": point.inside}
        for point in points
    ]
    what_ifs = combinations()[:changes]
    total = len(what_ifs) + 3
    progress(0, total)
    errors, inside = [], 0
    base = StepMeasurement.of_run(_step("base", BASE_RANKS, BASE), "the base")
    for done, change in enumerate(what_ifs, 1):
        progress(done, total)
        params = {**BASE, **change.changes}
        measured = _step(change.title, change.ranks, params | {"calibrate": False})["metrics"]["seconds"]["step"]
        prediction = predict(base, StepParams(**params), change.ranks)
        errors.append(abs(prediction.seconds / measured - 1))
        inside += prediction.low <= measured <= prediction.high
        rows.append(
            bench.row(change.title, [measured], "s", ranks=change.ranks)
            | {"predicted": prediction.seconds, "from": prediction.low, "to": prediction.high}
        )
    progress(total - 2, total)
    pair = StepMeasurement.of_run(_step("two ranks", 2, {"per_host": 1}), "two ranks")
    progress(total - 1, total)
    four = _step("four ranks", 4, {"per_host": 1, "calibrate": False})["metrics"]["seconds"]["step"]
    two_to_four = predict(pair, StepParams(per_host=1), 4).seconds / four - 1
    rows.append(bench.row("two to four ranks", [four], "s", ranks=4) | {"error": two_to_four})
    progress(total, total)
    ordered = sorted(errors)
    ratios = {
        **published.summary(points),
        "whatif_median_error": statistics.median(errors),
        "whatif_95th_percentile": ordered[max(-(-len(ordered) * 95 // 100) - 1, 0)],
        "whatif_inside": inside / len(errors),
        "two_to_four_error": abs(two_to_four),
    }
    return bench.document("scale", where, rows, ratios)


def _step(name: str, ranks: int, params: Mapping[str, Any]) -> dict[str, Any]:
    """A run of the workload by mpirun: its workload, params and metrics. Raises WorkshopError."""
    values = {"steps": STEPS, **params}
    placement = Placement(ranks=ranks, threads=1, oversubscribe=True, environment={POLLING: "1"})
    options = [word for key, value in values.items() for word in (f"--{key.replace('_', '-')}", str(value).lower())]
    command = [openmpi.launcher(), "-n", str(ranks), "--oversubscribe", sys.executable, "-m", "workshop.engine"]
    environment = os.environ | openmpi.environment(placement) | placement.rank_environment()
    return once(name, [*command, WORKLOAD.name, *options], environment, SECONDS) | {"params": values}
