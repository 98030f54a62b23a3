"""Linear and ridge regression over all ranks' rows, with an intercept that has no penalty.

Each rank adds up the products of its own rows' columns, and one all-reduce adds up the ranks' (the normal equations).
These square the condition number of the features. Where that costs too many digits, each rank reduces its rows to the
triangle R of their QR decomposition, and a tree merges the triangles (TSQR: Demmel, Grigori, Hoemmen and Langou,
Communication-optimal parallel and sequential QR and LU factorizations, SIAM J. Sci. Comput. 34, 2012).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from mpi4py import MPI
from numpy.typing import NDArray
from scipy.linalg import lapack, solve_triangular

from workshop.core.errors import BadInput
from workshop.engine.context import RankContext
from workshop.workloads.regression import TOLERANCE
from workshop.workloads.regression.data import Floats, Rows
from workshop.workloads.regression.moments import SAMPLE, Moments, Triangle, centred, check, upper_triangle

# The normal equations lose about eps x condition² of the coefficients, 2e-8 here; the limit leaves a reserve for
# estimates of the condition number that are too low.
ILL_CONDITIONED = 1e4
EPS = float(np.finfo(float).eps)
RESERVE = 10  # estimates of the condition number may be too low by so much


@dataclass(frozen=True)
class RegressionFit:
    """A regression, the same on all ranks. `bytes_exchanged` are those of the arrays that a rank gave to messages."""

    coefficients: NDArray[np.float64]  # (p,)
    intercept: float
    r2: float  # of the rows that were fitted; NaN where all targets are the same
    condition: float  # estimate, of the centred features with unit norms and the penalty; infinite where it has none
    method: Literal["normal equations", "QR"]
    rows: int
    rank: int  # singular values of the features that were not left out, of p
    messages: int
    bytes_exchanged: int


class CountedMessages:
    """The collective messages of a fit, counted; their time is the context's phase "communicate"."""

    def __init__(self, ctx: RankContext) -> None:
        self.ctx = ctx
        self.count = self.bytes = 0

    def _count(self, array: NDArray[np.float64]) -> None:
        self.count += 1
        self.bytes += array.nbytes

    def add_up(self, array: NDArray[np.float64]) -> NDArray[np.float64]:
        """The sum of all ranks' arrays."""
        self.ctx.synchronise()
        with self.ctx.phase("communicate"):
            self.ctx.comm.Allreduce(MPI.IN_PLACE, array)
        self._count(array)
        return array

    def merge(self, triangle: Triangle) -> None:
        """Merge all ranks' triangles in a tree: in each round, half of the remaining ranks send theirs to a neighbour.
        Rank 0 sends the last one to all."""
        comm, step = self.ctx.comm, 1
        size = len(triangle.factor)
        received = np.empty((size, size))
        self.ctx.synchronise()
        with self.ctx.phase("communicate"):
            while step < comm.size:
                if comm.rank % (2 * step):
                    comm.Send(triangle.factor, comm.rank - step)
                    break
                if comm.rank + step < comm.size:
                    comm.Recv(received, comm.rank + step)
                    triangle.merge(received)
                step *= 2
            comm.Bcast(triangle.factor)
        self._count(triangle.factor)


def fit(
    ctx: RankContext,
    blocks: Iterable[Rows],
    penalty: float = 0.0,
    solver: Literal["auto", "normal", "qr"] = "auto",
    tolerance: float = TOLERANCE,
) -> RegressionFit:
    """Minimise |y - X b - intercept|² + penalty |b|² over all ranks' rows. Collective.

    `blocks` are this rank's features X (n, p) and targets y (n,), as many blocks on every rank; a block may be empty.
    A single block is the batch, several are a stream, of which each is seen once. `solver` auto takes QR if the first
    block's condition number is above `ILL_CONDITIONED`, or if singular values may be left out. Without a penalty, QR
    leaves out singular values below `tolerance` times the largest one, as scikit-learn does.

    Raises BadInput, on all ranks alike: for a negative penalty, numbers that are not finite, no more rows than
    features, and features that depend on each other.
    """
    check(penalty, np.inf, 1)
    messages, stream = CountedMessages(ctx), iter(blocks)
    features, targets = next(stream)
    moments = Moments(_pivot(messages, features, targets))
    with ctx.phase("compute"):
        moments.add(features, targets)
    packed = _add_up(messages, moments)
    products = centred(packed)[0]
    coefficients, condition = solve_normal(products, penalty)
    exact = coefficients is not None and condition <= ILL_CONDITIONED
    if exact and not penalty:  # condition x largest / smallest norm is a bound of the unscaled condition number
        norms = np.sqrt(np.diag(products)[:-1])
        exact = bool(condition * norms.max() * tolerance * RESERVE <= norms.min())
    triangle = Triangle(moments.pivot) if solver == "qr" or (solver == "auto" and not exact) else None
    if triangle:
        with ctx.phase("compute"):
            triangle.add(features, targets)
    more = False
    for features, targets in stream:
        more = True
        with ctx.phase("compute"):
            moments.add(features, targets)
            if triangle:
                triangle.add(features, targets)
    if more:
        packed = _add_up(messages, moments)
    products, means, rows = centred(packed)
    _check_solvable(products, means + moments.pivot, rows, penalty)
    rank = len(products) - 1
    if triangle:
        messages.merge(triangle)
        coefficients, condition, rank = solve_triangle(triangle.factor, penalty, tolerance)
    elif more:
        coefficients, condition = solve_normal(products, penalty)
    if coefficients is None:
        raise BadInput(
            "The normal equations can't be solved, since features depend on each other, at least to within rounding; "
            "choose the solver qr, leave a feature out, or take a ridge penalty above 0."
        )
    intercept = means[-1] + moments.pivot[-1] - (means[:-1] + moments.pivot[:-1]) @ coefficients
    return RegressionFit(
        coefficients,
        float(intercept),
        explained(products, coefficients),
        condition,
        "QR" if triangle else "normal equations",
        int(rows),
        rank,
        messages.count,
        messages.bytes,
    )


def solve_normal(products: NDArray[np.float64], penalty: float) -> tuple[NDArray[np.float64] | None, float]:
    """Coefficients (p,) by Cholesky from the products of centred columns (p + 1, p + 1), and the condition number of
    the features: the root of LAPACK's estimate for their products. None and infinity where Cholesky fails.

    Columns have unit norms here, which about minimises the condition number (van der Sluis, Numer. Math. 14, 1969).
    """
    gram = products[:-1, :-1] + penalty * np.eye(len(products) - 1)
    scale = np.sqrt(np.maximum(np.diag(gram), 0))
    if not scale.all():
        return None, np.inf
    scaled = gram / np.outer(scale, scale)
    factor, failed = lapack.dpotrf(scaled)
    reciprocal = 0.0 if failed else float(lapack.dpocon(factor, np.abs(scaled).sum(axis=0).max())[0])
    if reciprocal <= 0:
        return None, np.inf
    solution, _ = lapack.dpotrs(factor, products[:-1, -1] / scale)
    return solution / scale, 1 / np.sqrt(reciprocal)


def solve_triangle(
    factor: NDArray[np.float64], penalty: float, tolerance: float
) -> tuple[NDArray[np.float64], float, int]:
    """Coefficients (p,) from a `Triangle.factor` (p + 2, p + 2), LAPACK's estimate of its condition number, and how
    many singular values are above `tolerance` times the largest one. The others are left out, without a penalty.

    Raises BadInput for features that depend on each other. The penalty is a row sqrt(penalty) for each coefficient.
    """
    triangle = factor[1:, 1:]  # without the first column and row, which are the means
    features = len(triangle) - 1
    if penalty:
        triangle = upper_triangle(np.vstack([triangle, np.sqrt(penalty) * np.eye(features, features + 1)]))
    upper, target = triangle[:features, :features], triangle[:features, features]
    scale = np.sqrt(np.square(upper).sum(axis=0))
    scaled = upper / np.where(scale, scale, 1)
    reciprocal = float(lapack.dtrcon(scaled)[0])
    if reciprocal <= EPS * features:
        number = int(np.argmin(np.abs(np.diag(scaled))))
        raise BadInput(
            f"The matrix is singular: feature {number} depends on the other features, at least to within rounding; "
            "leave it out, or take a ridge penalty above 0."
        )
    if not penalty:
        directions, values, weights = np.linalg.svd(upper)
        rank = int(np.count_nonzero(values > tolerance * values[0]))
        if rank < features:  # the shortest coefficients of those that fit in the remaining directions
            return weights[:rank].T @ ((directions.T @ target)[:rank] / values[:rank]), 1 / reciprocal, rank
    return solve_triangular(scaled, target) / scale, 1 / reciprocal, features


def explained(products: NDArray[np.float64], coefficients: NDArray[np.float64]) -> float:
    """R² of coefficients (p,), from the products of centred columns (p + 1, p + 1)."""
    gram, moment, total = products[:-1, :-1], products[:-1, -1], products[-1, -1]
    if total <= 0:
        return float("nan")
    return float(min((2 * coefficients @ moment - coefficients @ gram @ coefficients) / total, 1.0))


def _pivot(messages: CountedMessages, features: Floats, targets: Floats) -> NDArray[np.float64]:
    """The mean of some rows of all ranks, (p + 1,)."""
    some = [features[:SAMPLE].sum(axis=0, dtype=np.float64), [targets[:SAMPLE].sum(dtype=np.float64)]]
    sums = messages.add_up(np.concatenate([*some, [len(targets[:SAMPLE])]]))
    return sums[:-1] / max(sums[-1], 1)


def _add_up(messages: CountedMessages, moments: Moments) -> NDArray[np.float64]:
    """All ranks' packed moments. Raises BadInput, on all ranks, where a number is not finite."""
    packed = messages.add_up(moments.packed())
    if not np.isfinite(packed).all():
        rank, row = next(
            ((rank, row) for rank, row in enumerate(messages.ctx.comm.allgather(moments.bad_row)) if row is not None),
            (0, 0),
        )
        raise BadInput(
            f"Row {row} of rank {rank} has a number that is not finite (NaN) or too large to be squared; leave such "
            "rows out, or replace the number."
        )
    return packed


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
