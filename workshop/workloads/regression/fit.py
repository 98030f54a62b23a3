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
from workshop.engine.context import RankContext, library
from workshop.mpi import daal
from workshop.workloads.regression.moments import SAMPLE, Floats, Moments, Rows, centred, check

EPS = float(np.finfo(float).eps)
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

    Raises BadInput, on all ranks alike: for a negative penalty, numbers that are not finite, no more rows than
    features, and features that depend on each other.
    """
    check(penalty, np.inf, 1)
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
    _check_finite(ctx, packed, moments)
    products, distances, rows = centred(packed)
    means = distances + moments.pivot
    _check_solvable(products, means, rows, penalty)
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
            "leave it out, or take a larger ridge penalty."
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


def _check_finite(ctx: RankContext, packed: NDArray[np.float64], moments: Moments) -> None:
    """Raises BadInput, on all ranks, where a number of all ranks' packed moments is not finite."""
    if not np.isfinite(packed).all():
        rank, row = next(
            ((rank, row) for rank, row in enumerate(ctx.comm.allgather(moments.bad_row)) if row is not None),
            (0, 0),
        )
        raise BadInput(
            f"Row {row} of rank {rank} has a number that is not finite (NaN) or too large to be squared; leave such "
            "rows out, or replace the number."
        )


def _check_solvable(products: NDArray[np.float64], means: NDArray[np.float64], rows: float, penalty: float) -> None:
    """Raises BadInput for no more rows than features, and for a feature that is constant, where there is no penalty."""
    features = len(products) - 1
    check(penalty, rows, features)
    rounding = rows * np.square(4 * EPS * means[:-1])
    constant = np.flatnonzero(np.diag(products)[:-1] <= rounding)
    if len(constant) and not penalty:
        raise BadInput(
            f"The matrix is singular: feature {constant[0]} is the same in every row; leave it out, or take a ridge "
            "penalty above 0."
        )


Coefficients = tuple[NDArray[np.float64], float]  # (p,), and the intercept


def load_daal4py(ctx: RankContext, rows: int, instead: str) -> Any:
    """daal4py, ready for this rank's rows. Collective. Raises BadInput, on all ranks alike, where it can't be used;
    `instead` is the backend to choose then."""
    from mpi4py import MPI

    package = daal.load(library(), instead)
    if ctx.comm.allreduce(rows, op=MPI.MIN) < 1:
        raise BadInput(
            f"daal4py needs a row on every rank, and some have none; take fewer ranks, or choose the backend {instead}."
        )
    return package


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
