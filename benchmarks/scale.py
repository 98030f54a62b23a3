"""The model of scaling against measurements: published curves, and what-ifs that this machine runs."""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from benchmarks import Document, document, machine, row, say
from benchmarks.processes import run_workload
from workshop.workloads.scale import WORKLOAD, StepParams, regression
from workshop.workloads.scale.step import StepMeasurement, predict

STEPS = 40
MOST_WORKERS = 256  # of a published point that is predicted
# What-ifs: changes of a measured step. This machine can make each of them true, so predictions can be checked.
BASE: Mapping[str, Any] = {"per_host": 2, "spread": 0.1}  # of the step that is measured, on BASE_RANKS
BASE_RANKS = 4


@dataclass(frozen=True)
class WhatIf:
    """A change of params, of the number of ranks, or of both."""

    title: str
    changes: Mapping[str, Any]
    ranks: int = BASE_RANKS


CHANGES = (
    WhatIf("ten times slower network", {"bandwidth": 5.0}),
    WhatIf("ten times faster network", {"bandwidth": 500.0}),
    WhatIf("ten times longer latency", {"latency": 5000.0}),
    WhatIf("no spread of compute", {"spread": 0.0}),
    WhatIf("a rank twice as slow", {"slow": 2.0}),
    WhatIf("half the bytes", {"half": True}),
    WhatIf("a message for each tensor", {"bucket": 0}),
    WhatIf("overlap", {"overlap": True, "bucket": 100_000}),
    WhatIf("evaluation in every step", {"evaluate_every": 1}),
    WhatIf("a checkpoint every second step", {"checkpoint_every": 2}),
    WhatIf("four times the batch", {"batch": 128}),
    WhatIf("four times the weights", {"parameters": 1_000_000}),
    WhatIf("slow input", {"input": 15.0}),
    WhatIf("three times the compute", {"compute": 60.0}),
    WhatIf("one rank on each host", {"per_host": 1}),
    WhatIf("recursive doubling", {"algorithm": "recursive-doubling"}),
    WhatIf("a tree", {"algorithm": "tree"}),
    WhatIf("hierarchical", {"algorithm": "hierarchical"}),
    WhatIf("a parameter server", {"algorithm": "servers"}),
    WhatIf("four parameter servers", {"algorithm": "servers", "servers": 4}),
    WhatIf("half the ranks", {}, 2),
    WhatIf("half as many ranks again", {}, 6),
    WhatIf("twice the ranks", {}, 8),
)


def combinations() -> list[WhatIf]:
    """All changes, and changes of the work together with those of the exchange: more than fifty."""
    work = [change for change in CHANGES if {"slow", "spread", "batch", "compute"} & set(change.changes)]
    exchange = [
        change
        for change in CHANGES
        if {"algorithm", "bandwidth", "latency"} & set(change.changes) or change.ranks != BASE_RANKS
    ]
    return [
        *CHANGES,
        *(
            WhatIf(f"{first.title}, {second.title}", {**first.changes, **second.changes}, second.ranks)
            for number, first in enumerate(work)
            for second in exchange[number % 2 :]
        ),
    ][:60]


def judged() -> list[regression.ComparedPoint]:
    """The predictions for up to 256 workers of all machines whose curves have one method and several points to fit."""
    machines = [machine for machine in regression.machines().values() if not machine.changes]
    fitted = [min(map(regression.fitted_points, machine.curves.values())) for machine in machines]
    chosen = [machine for machine, count in zip(machines, fitted, strict=True) if count > 1]
    points = [point for machine in chosen for point in regression.comparison(machine)]
    return [point for point in points if point.prediction.workers <= MOST_WORKERS]


def run(changes: int = 60) -> Document:
    """Measure; returns the document. Raises WorkshopError."""
    where = machine(("numpy", "mpi4py"))
    points = judged()
    rows = []
    for point in points:
        facts = {"measured": point.measured, "predicted": point.prediction.rate, "inside": point.inside}
        rows.append(row(f"{point.curve} on {point.prediction.workers}", [point.error], "relative error", **facts))
    base = StepMeasurement.of_run(_step("base", BASE_RANKS, BASE), "the base")
    errors, inside = [], 0
    for change in combinations()[:changes]:
        params = {**BASE, **change.changes}
        measured = _step(change.title, change.ranks, params | {"calibrate": False})["metrics"]["seconds"]["step"]
        prediction = predict(base, StepParams(**params), change.ranks)
        errors.append(abs(prediction.seconds / measured - 1))
        inside += prediction.low <= measured <= prediction.high
        facts = {"predicted": prediction.seconds, "from": prediction.low, "to": prediction.high}
        rows.append(row(change.title, [measured], "s", ranks=change.ranks, **facts))
    pair = StepMeasurement.of_run(_step("two ranks", 2, {"per_host": 1}), "two ranks")
    four = _step("four ranks", 4, {"per_host": 1, "calibrate": False})["metrics"]["seconds"]["step"]
    two_to_four = predict(pair, StepParams(per_host=1), 4).seconds / four - 1
    rows.append(row("two to four ranks", [four], "s", ranks=4, error=two_to_four))
    figures = {
        "published_mean_error": statistics.mean(abs(point.error) for point in points),
        "naive_mean_error": statistics.mean(abs(point.naive / point.measured - 1) for point in points),
        "interval_coverage": statistics.mean(point.inside for point in points),
        "whatif_median_error": statistics.median(errors),
        "whatif_95th_percentile": sorted(errors)[max(-(-len(errors) * 95 // 100) - 1, 0)],
        "whatif_inside": inside / len(errors),
        "two_to_four_error": abs(two_to_four),
    }
    return document(where, rows, figures)


def _step(name: str, ranks: int, params: Mapping[str, Any]) -> dict[str, Any]:
    """A run of the workload by mpirun: its workload, params and metrics. Raises WorkshopError."""
    say(name)
    values = {"steps": STEPS, **params}
    return run_workload(WORKLOAD.name, ranks, values) | {"params": values}
