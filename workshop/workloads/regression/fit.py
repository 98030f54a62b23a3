"""Linear and ridge regression over all ranks' rows, with an intercept that has no penalty.

Each rank adds up the products of its own rows' columns, and one all-reduce adds up the ranks' (the normal equations).

The same regression by other libraries: daal4py, which exchanges over MPI by itself, and scikit-learn, which has all
rows in one process.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from mpi4py import MPI
from numpy.typing import NDArray
from scipy.linalg import lapack

from workshop.core.errors import BadInput
from workshop.engine.context import RankContext
from workshop.mpi import daal
from workshop.workloads.regression.moments import SAMPLE, Floats, Moments, Rows, centred

DEPENDENT = 1e-10  # part of a feature's variance that no other feature explains; with less, few digits would be right


@dataclass(frozen=True)
class RegressionFit:
    """A regression, the same on all ranks. `bytes_exchanged` are those of the arrays that a rank gave to messages."""

    coefficients: NDArray[np.float64]  # (p,)
    intercept: float
    r2: float  # of the rows that were fitted; NaN where all targets are the same
    rows: int
    bytes_exchanged: int


def fit(ctx: RankContext, blocks: Iterable[Rows], penalty: float = 0.0) -> RegressionFit:
    """Minimise |y - X b - intercept|² + penalty |b|² over all ranks' rows. Collective.

    `blocks` are this rank's features X (n, p) and targets y (n,); each is seen once, and a block may be empty.

    Raises BadInput, on all ranks alike, for features that depend on each other.
    """
    stream = iter(blocks)
    features, targets = next(stream)
    sums = add_up(ctx, _sample(features, targets))
    moments = Moments(sums[:-1] / max(sums[-1], 1))
    with ctx.phase("compute"):
        moments.add(features, targets)
    for features, targets in stream:
        with ctx.phase("compute"):
            moments.add(features, targets)
    packed = add_up(ctx, moments.packed())
    products, distances, rows = centred(packed)
    means = distances + moments.pivot
    coefficients = solve(products, penalty)
    return RegressionFit(
        coefficients,
        float(means[-1] - means[:-1] @ coefficients),
        explained(products, coefficients),
        int(rows),
        sums.nbytes + packed.nbytes,
    )


def add_up(ctx: RankContext, array: NDArray[np.float64]) -> NDArray[np.float64]:
    """The sum of all ranks' arrays, in place. Collective."""
    ctx.synchronise()
    with ctx.phase("communicate"):
        ctx.comm.Allreduce(MPI.IN_PLACE, array)
    return array


def solve(products: NDArray[np.float64], penalty: float) -> NDArray[np.float64]:
    """Coefficients (p,) by Cholesky, from the products of centred columns (p + 1, p + 1). Raises BadInput for a feature
    that depends on others.

    Columns have unit norms here, so that a square on the factor's diagonal is the part of a feature's variance that the
    features before it don't explain.
    """
    gram = products[:-1, :-1] + penalty * np.eye(len(products) - 1)
    scale = np.sqrt(np.diag(gram))
    factor, failed = lapack.dpotrf(gram / np.outer(scale, scale))
    unexplained = np.square(np.diag(factor))
    number = failed - 1 if failed else int(unexplained.argmin())
    if failed or unexplained[number] < DEPENDENT:
        raise BadInput(
            f"The matrix is singular: feature {number} depends on the other features, at least to within rounding; "
            "take more rows, or a larger ridge penalty."
        )
    solution, _ = lapack.dpotrs(factor, products[:-1, -1] / scale)
    return np.asarray(solution / scale)


def explained(products: NDArray[np.float64], coefficients: NDArray[np.float64]) -> float:
    """R² of coefficients (p,), from the products of centred columns (p + 1, p + 1)."""
    gram, moment, total = products[:-1, :-1], products[:-1, -1], products[-1, -1]
    if total <= 0:
        return float("nan")
    return float(min((2 * coefficients @ moment - coefficients @ gram @ coefficients) / total, 1.0))


def _sample(features: Floats, targets: Floats) -> NDArray[np.float64]:
    """The sums of some rows' columns, and how many rows these are: (p + 2,)."""
    some = [features[:SAMPLE].sum(axis=0, dtype=np.float64), [targets[:SAMPLE].sum(dtype=np.float64)]]
    return np.concatenate([*some, [len(targets[:SAMPLE])]])


Coefficients = tuple[NDArray[np.float64], float]  # (p,), and the intercept


def fit_daal4py(package: Any, features: Floats, targets: Floats, penalty: float, distributed: bool) -> Coefficients:
    """Fit by daal4py's normal equations, in the precision of the rows: features (n, p), targets (n,)."""
    settings: dict[str, Any] = {"fptype": daal.NUMBERS[features.dtype.name], "interceptFlag": True}
    if penalty:
        algorithm = package.ridge_regression_training(
            **settings, ridgeParameters=np.array([[penalty]]), distributed=distributed
        )
    else:
        algorithm = package.linear_regression_training(**settings, distributed=distributed)
    beta = np.asarray(algorithm.compute(features, targets[:, None]).model.Beta, np.float64)[0]
    return beta[1:], float(beta[0])


def fit_sklearn(features: Floats, targets: Floats, penalty: float) -> Coefficients:
    """Fit by scikit-learn, which decomposes the features (SVD): features (n, p), targets (n,)."""
    from sklearn.linear_model import LinearRegression, Ridge

    model = Ridge(penalty, solver="svd") if penalty else LinearRegression()
    model.fit(features, targets)
    return np.asarray(model.coef_, np.float64), float(model.intercept_)
