"""The workload: what a rank does in a run of regression, from the rows to the metrics."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workshop.engine.context import RankContext, library
from workshop.engine.data import shard
from workshop.mpi import daal
from workshop.workloads.regression import INSTEAD, RegressionParams
from workshop.workloads.regression import fit as regression_fit
from workshop.workloads.regression.fit import RegressionFit, fit
from workshop.workloads.regression.moments import Floats, MadeUpRows, Rows, compile_kernels

KMEANS_CLUSTERS = 10  # of the k-means whose messages are compared


def run(ctx: RankContext, params: RegressionParams) -> Mapping[str, Any]:
    """Fit all ranks' rows and tell what came out. Collective.

    Events: `total rows/s` of each fit, or of each block of a stream, from rank 0, and every rank's `time.*`.
    """
    seconds: dict[str, float] = {}
    source = MadeUpRows(params.rows, params.features, params.noise, params.seed, params.dtype)
    ctx.activity("loading the kernel, which is compiled the first time: up to a minute")
    ctx.rank_0_first(compile_kernels)
    if params.mode == "batch":
        result, seconds["fit"], stopped = _batch(ctx, params, source, seconds)
    else:
        result, seconds["fit"], stopped = _streaming(ctx, params, source, seconds)
    error = _largest_difference(result.coefficients, source.coefficients)
    metrics = {
        "rows": result.rows,
        "features": params.features,
        "backend": params.backend,
        "r2": result.r2 if math.isfinite(result.r2) else None,
        "coefficient_error": error,
        "intercept": result.intercept,
        "coefficients": result.coefficients.tolist(),
        "rows_per_second": round(result.rows / seconds["fit"]),
        "bytes_exchanged": result.bytes_exchanged,
        # Sums (k, p), counts (k,), inertia and how many points changed, as float64.
        "bytes_kmeans": 8 * (KMEANS_CLUSTERS * (params.features + 1) + 2),
        "bytes_data": result.rows * (params.features + 1) * np.dtype(params.dtype).itemsize,
        "stopped": stopped,
    }
    if params.verify and not stopped:
        ctx.activity("fitting with scikit-learn")
        with ctx.timed("verify", seconds):
            metrics["difference"] = ctx.comm.bcast(_verify(source, params, result) if ctx.rank == 0 else None)
    return metrics | {"seconds": {name: round(value, 6) for name, value in seconds.items()}}


def _batch(
    ctx: RankContext, params: RegressionParams, source: MadeUpRows, seconds: dict[str, float]
) -> tuple[RegressionFit, float, bool]:
    """Fit the same rows several times: the fit, the median of its seconds, and whether a stop was asked for."""
    ctx.activity("making the rows")
    with ctx.timed("generate", seconds):
        features, targets = source.read(*shard(params.rows, ctx.size, ctx.rank))
    ctx.end_step(0)
    fit_once = _backend(ctx, params, features, targets)
    ctx.activity("fitting")
    times, exchanges, stopped = [], [], False
    for number in range(1, params.fits + 1):
        ctx.synchronise()
        before, began = ctx.phase_seconds.get("communicate", 0.0), time.perf_counter()
        result = fit_once()
        ctx.synchronise()
        times.append(time.perf_counter() - began)
        exchanges.append(ctx.phase_seconds.get("communicate", 0.0) - before)
        _tell(ctx, number, params.fits, params.rows / times[-1])
        if stopped := ctx.stop_requested():
            break
    seconds["exchange"] = statistics.median(exchanges)
    if params.backend != INSTEAD:  # daal4py doesn't tell the R² of its coefficients
        result = replace(result, r2=fit(ctx, [(features, targets)], params.penalty).r2)
    return result, statistics.median(times), stopped and number < params.fits


def _backend(
    ctx: RankContext, params: RegressionParams, features: Floats, targets: Floats
) -> Callable[[], RegressionFit]:
    """A fit of these rows by the backend. daal4py tells neither R² nor the bytes of its messages: NaN and 0."""
    if params.backend == INSTEAD:
        return lambda: fit(ctx, [(features, targets)], params.penalty)
    package = daal.load(library(), INSTEAD)

    def fit_once() -> RegressionFit:
        with ctx.phase("compute"):
            coefficients = regression_fit.fit_daal4py(package, features, targets, params.penalty, distributed=True)
        return RegressionFit(*coefficients, math.nan, params.rows, 0)

    return fit_once


def _streaming(
    ctx: RankContext, params: RegressionParams, source: MadeUpRows, seconds: dict[str, float]
) -> tuple[RegressionFit, float, bool]:
    """Fit blocks as they arrive: the fit, its seconds without what it takes to make the rows, and whether a stop was
    asked for."""
    stopped = False
    count = -(-params.rows // params.block)
    seconds["generate"] = 0.0

    def blocks() -> Iterator[Rows]:
        nonlocal stopped
        for number, first in enumerate(range(0, params.rows, params.block), 1):
            size = min(params.block, params.rows - first)
            begin, end = shard(size, ctx.size, ctx.rank)
            began = time.perf_counter()
            with ctx.phase("read"):
                rows = source.read(first + begin, first + end)
            seconds["generate"] += (read := time.perf_counter()) - began
            yield rows
            _tell(ctx, number, count, size / max(time.perf_counter() - read, 1e-9))
            if ctx.stop_requested():
                stopped = number < count
                return

    ctx.activity("fitting the stream")
    ctx.synchronise()
    before, began = ctx.phase_seconds.get("communicate", 0.0), time.perf_counter()
    result = fit(ctx, blocks(), params.penalty)
    took = time.perf_counter() - began - seconds["generate"]
    seconds["exchange"] = ctx.phase_seconds.get("communicate", 0.0) - before
    return result, took, stopped


def _tell(ctx: RankContext, number: int, count: int, rate: float) -> None:
    """Tell that a fit or a block has ended."""
    ctx.end_step(number)
    if ctx.rank == 0:
        ctx.emit("total rows/s", rate, number)
    ctx.progress(number, count)


def _verify(source: MadeUpRows, params: RegressionParams, result: RegressionFit) -> float:
    """The largest relative difference from scikit-learn's coefficients of all rows, in float64."""
    features, targets = (array.astype(np.float64) for array in source.read(0, source.size))
    expected, _ = regression_fit.fit_sklearn(features, targets, params.penalty)
    return _largest_difference(result.coefficients, expected)


def _largest_difference(values: NDArray[np.float64], expected: NDArray[np.float64]) -> float:
    """The largest difference of a coefficient, relative to the largest one that is expected."""
    return float(np.abs(values - expected).max() / max(np.abs(expected).max(), np.finfo(float).tiny))
