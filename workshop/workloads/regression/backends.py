"""The same regression by other libraries: daal4py, which exchanges over MPI by itself, and scikit-learn, which has all
rows in one process."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from workshop.core.errors import BadInput
from workshop.engine.context import RankContext, library
from workshop.mpi import daal
from workshop.workloads.regression.data import Floats

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
