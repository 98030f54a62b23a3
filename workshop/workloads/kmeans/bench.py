"""Distributed k-means against daal4py and scikit-learn: one run, the same points, the same start, taking turns."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

from workshop import bench
from workshop.bench.crew import crew
from workshop.core import config, topology
from workshop.core.errors import WorkshopError
from workshop.core.placement import Placement
from workshop.mpi import openmpi, prefix
from workshop.workloads.kmeans import daal

CLUSTERS = (10, 100)
AGREE = 1e-3  # of inertia, relative
PEERS = ("daal4py_distributed", "daal4py_threads", "sklearn")
INSTALL = "workshop bench peers"


@dataclass(frozen=True)
class Contender:
    """How its ranks are started, or why they can't be."""

    command: Sequence[str] = ()
    ranks: int = 1
    environment: Mapping[str, str] | None = None
    note: str = ""


def install_peers() -> None:
    """Install what the bench compares with: MPICH and daal4py, each in a prefix of its own. Raises WorkshopError."""
    prefix.install("mpich")
    prefix.install_packages(daal.folder(), daal.PACKAGES)


def run(
    repeats: int = 9, clusters: Sequence[int] = CLUSTERS, progress: bench.Progress = lambda done, total: None
) -> dict[str, Any]:
    """Measure, while the caller holds the machine for measuring; returns the bench as JSON. Raises WorkshopError.

    Ratios are a peer's median seconds divided by ours.
    """
    where = bench.machine(("numpy", "numba", "scikit-learn", "mpi4py", "openmpi"))
    contenders = _contenders()
    results = _measure({name: it for name, it in contenders.items() if not it.note}, repeats, clusters, progress)
    rows: list[dict[str, Any]] = []
    ratios: dict[str, float] = {}
    for k in clusters:
        answers = {name: results[f"{name}_k{k}"] for name in contenders if f"{name}_k{k}" in results}
        inertia = agreed_inertia(k, {name: answers_of_contender[-1] for name, answers_of_contender in answers.items()})
        values = {}
        for name in ("ours", *PEERS):
            if name not in answers:
                rows.append(bench.missing(f"{name}_k{k}", "s", contenders[name].note))
                continue
            answers_of_contender = answers[name]
            facts = {"inertia": inertia[name], "iterations": answers_of_contender[-1]["iterations"]}
            rows.append(bench.row(f"{name}_k{k}", [answer["seconds"] for answer in answers_of_contender], "s", **facts))
            values[name] = rows[-1]["value"]
        ratios |= {f"{name}_k{k}": values[name] / values["ours"] for name in PEERS if name in values}
    return bench.document("kmeans", where, rows, ratios)


def _measure(
    contenders: Mapping[str, Contender], repeats: int, clusters: Sequence[int], progress: bench.Progress
) -> dict[str, list[dict[str, Any]]]:
    """The answers of all contenders by `<name>_k<clusters>`."""
    with ExitStack() as stack:
        crews = {
            name: stack.enter_context(crew(name, it.command, it.ranks, it.environment or {}))
            for name, it in contenders.items()
        }

        def turn(name: str, k: int) -> Callable[[], dict[str, Any]]:
            return lambda: crews[name]({"clusters": k})

        return bench.interleaved({f"{name}_k{k}": turn(name, k) for k in clusters for name in crews}, repeats, progress)


def _contenders() -> dict[str, Contender]:
    """Ours and the peers: two ranks of one thread, or one process of two threads."""
    cores = topology.allowed_cores(topology.machine())
    rank = [sys.executable, "-m", "workshop.workloads.kmeans.bench_rank"]
    one_thread = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    two = {"OMP_NUM_THREADS": "2", "OPENBLAS_NUM_THREADS": "2"}
    mpirun = [openmpi.launcher(), "-n", "2", *openmpi.arguments(Placement(ranks=2), cores)]
    contenders = {
        "ours": Contender(
            [*mpirun, *rank, "ours"],
            ranks=2,
            environment=one_thread | openmpi.environment() | {"NUMBA_CACHE_DIR": str(config.cache_folder("numba"))},
        ),
        "sklearn": Contender([*rank, "sklearn"], environment=two),
    }
    daal4py = daal.path()
    if daal4py is None:
        absent = Contender(note=f"daal4py is not installed; `{INSTALL}` does.")
        return contenders | {"daal4py_distributed": absent, "daal4py_threads": absent}
    path = {"PYTHONPATH": os.pathsep.join(filter(None, [daal4py, os.environ.get("PYTHONPATH")]))}
    contenders["daal4py_threads"] = Contender([*rank, "daal4py_threads"], environment=two | path)
    mpich = prefix.installed().get("mpich")
    if mpich is None:
        contenders["daal4py_distributed"] = Contender(note="MPICH is not installed; `workshop mpi install mpich` does.")
    else:
        binding = ["-bind-to", "core"] if cores >= 2 else []
        contenders["daal4py_distributed"] = Contender(
            [prefix.launcher(mpich), "-n", "2", *binding, *rank, "daal4py_distributed"],
            ranks=2,
            environment=one_thread | path | prefix.environment(mpich),
        )
    return contenders


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
