"""Distributed linear regression against daal4py and scikit-learn: one run, the same rows, taking turns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from workshop import bench
from workshop.bench import peers
from workshop.bench.peers import PEERS
from workshop.core.errors import WorkshopError

SHAPES = ((1_000_000, 10), (200_000, 100))  # rows and features
AGREE = 1e-6  # of coefficients, relative to the largest
RATIOS = {"daal4py_distributed": "own_vs_daal4py", "daal4py_threads": "own_vs_threads", "sklearn": "own_vs_sklearn"}


def run(
    repeats: int = 9,
    shapes: Sequence[tuple[int, int]] = SHAPES,
    progress: bench.Progress = lambda done, total: None,
) -> dict[str, Any]:
    """Measure, while the caller holds the machine for measuring; returns the bench as JSON. Raises WorkshopError.

    Ratios are a peer's median seconds divided by ours, for each number of features; the one without a number is the
    smallest of them.
    """
    where = bench.machine(("numpy", "scipy", "numba", "scikit-learn", "mpi4py", "openmpi"))
    contenders = peers.contenders("workshop.workloads.regression.bench_rank")
    orders = {f"f{features}": {"rows": rows, "features": features} for rows, features in shapes}
    results = peers.measure(contenders, orders, repeats, progress)
    rows: list[dict[str, Any]] = []
    ratios: dict[str, float] = {}
    for label, order in orders.items():
        answers = {name: results[f"{name}_{label}"] for name in contenders if f"{name}_{label}" in results}
        differences = agreement({name: answers_of_contender[-1] for name, answers_of_contender in answers.items()})
        values = {}
        for name in ("ours", *PEERS):
            if name not in answers:
                rows.append(bench.missing(f"{name}_{label}", "s", contenders[name].note))
                continue
            seconds = [answer["seconds"] for answer in answers[name]]
            rows.append(bench.row(f"{name}_{label}", seconds, "s", difference=differences[name], **order))
            values[name] = rows[-1]["value"]
        for name in values.keys() & RATIOS.keys():
            ratios[f"{RATIOS[name]}_{label}"] = values[name] / values["ours"]
    for ratio in RATIOS.values():
        if parts := [value for name, value in ratios.items() if name.startswith(f"{ratio}_f")]:
            ratios[ratio] = min(parts)
    return bench.document("regression", where, rows, ratios)


def agreement(answers: Mapping[str, Mapping[str, Any]]) -> dict[str, float]:
    """Each contender's largest difference from our coefficients, relative to the largest of them. Raises WorkshopError
    where they differ by more than rounding."""
    ours = np.array(answers["ours"]["coefficients"])
    differences = {
        name: float(np.abs(np.array(answer["coefficients"]) - ours).max() / np.abs(ours).max())
        for name, answer in answers.items()
    }
    worst = max(differences, key=differences.__getitem__)
    if differences[worst] > AGREE:
        raise WorkshopError(
            f"The contenders don't agree on the coefficients: those of {worst} differ by {differences[worst]:.2g} from "
            "ours, so their times can't be compared."
        )
    return differences
