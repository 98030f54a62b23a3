"""What regression is compared with: scikit-learn on all rows, and rows that are hard."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from workshop.workloads.regression.moments import MadeUpRows, Rows

AGREE = 1e-6  # of coefficients, relative to the largest
CASES = {
    "few": {"features": 5, "penalty": 0.0},
    "wide": {"features": 40, "penalty": 0.0},
    "ridge": {"features": 5, "penalty": 30.0},
    "shifted": {"features": 5, "penalty": 0.0, "shift": 1e6},
    "scaled": {"features": 5, "penalty": 0.0, "scale": 1e4},
}
SIZE = 3001


def rows_of(features: int, shift: float = 0.0, scale: float = 1.0, **_: float) -> Rows:
    """Rows of a case; `shift` is added to all features, `scale` is a factor of the first."""
    made, targets = MadeUpRows(SIZE, features, 0.1, seed=3).read(0, SIZE)
    made[:, 0] *= scale
    return made + shift, targets


def sklearn_coefficients(features: NDArray[np.floating], targets: NDArray[np.floating], penalty: float) -> NDArray:
    """The coefficients and, last, the intercept, (p + 1,)."""
    from sklearn.linear_model import LinearRegression, Ridge

    model = Ridge(penalty, solver="svd") if penalty else LinearRegression()
    model.fit(features, targets)
    return np.append(model.coef_, model.intercept_)


def difference(values: NDArray, expected: NDArray) -> float:
    """The largest difference of coefficients, relative to the largest one that is expected."""
    values, expected = np.asarray(values)[:-1], np.asarray(expected)[:-1]
    return float(np.abs(values - expected).max() / np.abs(expected).max())
