"""Distributed k-means against other libraries: one run, the same points, the same start, taking turns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from workshop import bench
from workshop.bench import peers
from workshop.core.errors import WorkshopError

PEERS = (*peers.PEERS, "sklearnex", *peers.PACKAGES)
CLUSTERS = (10, 100)
AGREE = 1e-3  # of inertia, relative
CONVERGE = ("ours", "sklearn", "sklearn_elkan", "sklearnex")  # contenders that stop by the same rule


def run(
    repeats: int = 9, clusters: Sequence[int] = CLUSTERS, progress: bench.Progress = lambda done, total: None
) -> dict[str, Any]:
    """Measure, while the caller holds the machine for measuring; returns the bench as JSON. Raises WorkshopError.

    Ratios are a peer's median seconds divided by ours: for a number of iterations, and until convergence (`converged`).
    """
    where = bench.machine(("numpy", "numba", "scikit-learn", "mpi4py", "openmpi"))
    contenders = peers.contenders("workshop.workloads.kmeans.bench_rank", [*PEERS, "sklearn_elkan"])
    iterating = {name: contenders[name] for name in ("ours", *PEERS)}
    results = peers.measure(iterating, {f"k{k}": {"clusters": k} for k in clusters}, repeats, progress)
    until_converged = {f"converged_k{k}": {"clusters": k, "converge": True} for k in clusters}
    results |= peers.measure({name: contenders[name] for name in CONVERGE}, until_converged, repeats, progress)
    rows: list[dict[str, Any]] = []
    ratios: dict[str, float] = {}
    for k, label in [(k, f"{kind}k{k}") for kind in ("", "converged_") for k in clusters]:
        answers = {name: results[f"{name}_{label}"] for name in contenders if f"{name}_{label}" in results}
        inertia = agreed_inertia(k, {name: answers_of_contender[-1] for name, answers_of_contender in answers.items()})
        values = {}
        for name in contenders:
            if name not in answers:
                if contenders[name].note and (name in iterating if label == f"k{k}" else name in CONVERGE):
                    rows.append(bench.missing(f"{name}_{label}", "s", contenders[name].note))
                continue
            answers_of_contender = answers[name]
            facts = {"inertia": inertia[name], "iterations": answers_of_contender[-1]["iterations"]}
            rows.append(
                bench.row(f"{name}_{label}", [answer["seconds"] for answer in answers_of_contender], "s", **facts)
            )
            values[name] = rows[-1]["value"]
        ratios |= {f"{name}_{label}": values[name] / values["ours"] for name in values if name != "ours"}
    return bench.document("kmeans", where, rows, ratios)


def agreed_inertia(clusters: int, answers: Mapping[str, Mapping[str, Any]]) -> dict[str, float]:
    """Each contender's inertia, computed alike from its centroids in float64. Raises WorkshopError if they differ."""
    import numpy as np

    from workshop.workloads.kmeans.bench_rank import points

    data = points(clusters, 1, 0)
    inertias = {}
    for name, answer in answers.items():
        centroids = np.array(answer["centroids"])
        half = np.square(centroids).sum(axis=1) / 2
        total = 0.0
        for first in range(0, len(data), 16_384):
            some = data[first : first + 16_384].astype(np.float64)
            total += np.square(some).sum() + 2 * np.min(half - some @ centroids.T, axis=1).sum()
        inertias[name] = float(total)
    differences = {name: abs(value / inertias["ours"] - 1) for name, value in inertias.items()}
    worst = max(differences, key=differences.__getitem__)
    if differences[worst] > AGREE:
        raise WorkshopError(
            f"The contenders don't agree on the result for k = {clusters}: inertia is {inertias['ours']:.6g} for ours "
            f"and {inertias[worst]:.6g} for {worst}, so their times can't be compared."
        )
    return inertias
