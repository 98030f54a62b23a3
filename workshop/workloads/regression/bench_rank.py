"""A rank of a contender of the regression bench: `python -m workshop.workloads.regression.bench_rank NAME FOLDER`.

Makes its rows, then fits at every order: from the rows in float64 to coefficients and intercept.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from workshop.bench.peers import Prepare, serve
from workshop.engine.data.shards import shard
from workshop.workloads.regression import TOLERANCE, backends
from workshop.workloads.regression.data import MadeUpRows, Rows

CONDITION, NOISE, SEED = 10.0, 1.0, 999


@cache
def rows(size: int, features: int, ranks: int, rank: int) -> Rows:
    """A rank's part of the rows, features first: (n, features) and (n,)."""
    return MadeUpRows(size, features, CONDITION, NOISE, SEED).read(*shard(size, ranks, rank))


def begin(contender: str, comm: Any) -> Prepare:
    """A contender's way to fit the rows of every order `{"rows": n, "features": p}`."""
    fit = _fit_of(contender, comm)

    def prepare(order: Mapping[str, Any], size: int, rank: int) -> Callable[[], dict[str, Any]]:
        own_rows = rows(order["rows"], order["features"], size, rank)

        def compute() -> dict[str, Any]:
            coefficients, intercept = fit(own_rows)
            return {"coefficients": [*coefficients.tolist(), intercept]}

        return compute

    return prepare


def _fit_of(contender: str, comm: Any) -> Callable[[Rows], backends.Coefficients]:
    if contender == "sklearn":
        return lambda rows: backends.fit_sklearn(*rows, 0.0, TOLERANCE)
    if contender == "ours":
        from workshop.engine.context import RankContext
        from workshop.workloads.regression.fit import fit

        ctx = RankContext(comm)

        def ours(rows: Rows) -> backends.Coefficients:
            result = fit(ctx, [rows])
            return result.coefficients, result.intercept

        return ours
    import daal4py

    daal4py.daalinit(1 if comm else 2)
    return lambda rows: backends.fit_daal4py(daal4py, *rows, 0.0, distributed=bool(comm))


if __name__ == "__main__":
    serve(begin)
