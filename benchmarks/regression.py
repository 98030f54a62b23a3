"""Distributed linear regression against daal4py and scikit-learn: float64, 1M x 10 and 200,000 x 100, the same rows.

Ratios are a peer's seconds divided by ours, for each number of features; the one without a number is the smallest.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import numpy as np

from benchmarks import Document, Row, document, machine, missing, ratio, row
from benchmarks.peers import Prepare, contenders, measure, serve
from workshop.core.errors import WorkshopError
from workshop.engine.data import shard
from workshop.workloads.regression import fit as regression_fit
from workshop.workloads.regression.moments import MadeUpRows, Rows

SHAPES = {10: 1_000_000, 100: 200_000}  # features: rows
NOISE, SEED = 1.0, 999
AGREE = 1e-6  # of coefficients, relative to the largest
RATIOS = {"daal4py_distributed": "own_vs_daal4py", "daal4py_threads": "own_vs_threads", "sklearn": "own_vs_sklearn"}


def run(repeats: int = 9, features: tuple[int, ...] = tuple(SHAPES)) -> Document:
    """Measure; returns the document. Raises WorkshopError."""
    where = machine(("numpy", "scipy", "numba", "scikit-learn", "mpi4py", "openmpi"))
    by_name = contenders("benchmarks.regression")
    orders = {f"f{count}": {"rows": SHAPES.get(count, 200_000), "features": count} for count in features}
    results = measure(by_name, orders, repeats)
    rows: list[Row] = []
    compared: dict[str, list[Row]] = {}
    for label, order in orders.items():
        answers = {name: results[f"{name}_{label}"] for name in by_name if f"{name}_{label}" in results}
        differences = agreement({name: found[-1] for name, found in answers.items()})
        seconds = {name: [answer["seconds"] for answer in found] for name, found in answers.items()}
        for name in by_name:
            if name not in answers:
                rows.append(missing(f"{name}_{label}", "s", by_name[name].note))
                continue
            rows.append(row(f"{name}_{label}", seconds[name], "s", difference=differences[name], **order))
            if name != "ours":
                line = ratio(f"{RATIOS[name]}_{label}", seconds[name], seconds["ours"])
                compared.setdefault(RATIOS[name], []).append(line)
    for name, lines in compared.items():
        rows += [*lines, min(lines, key=lambda line: line["value"]) | {"name": name}]
    return document(where, rows)


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


@cache
def made_up(size: int, features: int, ranks: int, rank: int) -> Rows:
    """A rank's part of the rows, features first: (n, features) and (n,)."""
    return MadeUpRows(size, features, NOISE, SEED).read(*shard(size, ranks, rank))


def begin(contender: str, comm: Any) -> Prepare:
    """A contender's way to fit the rows of an order `{rows, features}`: a rank of it runs this."""
    fit = _fit_of(contender, comm)

    def prepare(order: Mapping[str, Any], size: int, rank: int) -> Callable[[], dict[str, Any]]:
        own_rows = made_up(order["rows"], order["features"], size, rank)

        def compute() -> dict[str, Any]:
            coefficients, intercept = fit(own_rows)
            return {"coefficients": [*coefficients.tolist(), intercept]}

        return compute

    return prepare


def _fit_of(contender: str, comm: Any) -> Callable[[Rows], regression_fit.Coefficients]:
    if contender == "sklearn":
        return lambda rows: regression_fit.fit_sklearn(*rows, 0.0)
    if contender == "ours":
        from workshop.engine.context import RankContext
        from workshop.workloads.regression.fit import fit

        def ours(rows: Rows) -> regression_fit.Coefficients:
            result = fit(RankContext(comm), [rows])
            return result.coefficients, result.intercept

        return ours
    import daal4py

    daal4py.daalinit(1 if comm else 2)
    return lambda rows: regression_fit.fit_daal4py(daal4py, *rows, 0.0, distributed=bool(comm))


if __name__ == "__main__":
    serve(begin)
