"""Code that the installation compiles ahead, so that a first run doesn't wait for it."""

from __future__ import annotations

import numpy as np

from workshop.workloads.kmeans import KMeansParams
from workshop.workloads.kmeans.shards import compile_for, kernel


def kernels() -> None:
    """Compile the kernels for photos and for blobs as the form has them, as the ranks of a session find them."""
    params = KMeansParams()
    for features in (3, params.features):
        compile_for(kernel(params.backend), np.zeros((1, features), params.dtype))
