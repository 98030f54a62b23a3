"""The time of a step on n workers, relative to one worker.

Each worker computes its batch, and then all wait for the slowest worker and exchange their gradients:

    t(n) / t(1) = 1 + bandwidth (n - 1) / n + latency log2(n) + stragglers z(n) + contention (n - 1) + hosts [n > h]

`bandwidth`: a ring moves 2 (n - 1) / n of the gradients' bytes (Patarasuk and Yuan, J. Parallel Distrib. Comput. 69,
2009). `latency`: a tree takes log2(n) messages (Thakur et al., Int. J. High Perform. Comput. Appl. 19, 2005).
`stragglers`: the slowest of n normal times lies z(n) standard deviations above the mean (Blom 1958). `contention`: work
that workers do one after the other, as in Amdahl's law, or a server that serves all of them. `hosts`: the exchange
leaves a host of h workers. All parameters are 0 or more.

Where a curve says more of its points, bytes relative to the first point multiply `bandwidth`, and the batch multiplies
the work of a worker and its stragglers. With the name of an algorithm, n - 1 messages of a ring take the place of
log2(n), and log2(n) times all bytes those of a tree, as in `exchange`.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from workshop.workloads.scale.curve import ScalingCurve

Floats = NDArray[np.float64]

# The mean of each parameter before any data; `regression` says which distribution it has. These are an assumption: of
# the values that `published.learn` tries, they predict the published curves best.
PRIOR: Mapping[str, float] = {
    "bandwidth": 0.02,
    "latency": 0.005,
    "stragglers": 0.015,
    "contention": 0.0003,
    "hosts": 0.03,
}
HOST_SIZES = (1, 2, 4, 8, 16)  # workers of a host: each is as probable as the others


def slowest(workers: Floats) -> Floats:
    """The expected largest of n standard normal numbers (Blom 1958): z(n), 0 for one worker."""
    return np.where(workers > 1, ndtri((workers - 0.375) / (workers + 0.25)), 0.0)


def terms(curve: ScalingCurve) -> dict[str, Floats]:
    """The factors of the parameters [points], except for `hosts`."""
    count = np.asarray(curve.workers, float)
    doublings = np.log2(count)
    algorithms = curve.algorithm or ("",) * len(count)
    # The bytes that a rank moves, and the messages that it waits for, in halves of those of a ring and of a tree.
    moves = {"recursive-doubling": doublings / 2, "tree": doublings, "servers": count - 1}
    waits = {"ring": count - 1, "recursive-doubling": doublings / 2, "servers": np.minimum(count - 1, 1.0)}
    share = (count - 1) / count

    def by_algorithm(factors: Mapping[str, Floats], usual: Floats) -> Floats:
        return np.array([factors.get(name, usual)[point] for point, name in enumerate(algorithms)])

    return {
        "bandwidth": by_algorithm(moves, share) * np.asarray(curve.bytes or 1.0),
        "latency": by_algorithm(waits, doublings),
        "stragglers": slowest(count) * np.asarray(curve.batch or 1.0),
        "contention": count - 1,
    }


def step_times(parameters: Mapping[str, Floats], host_sizes: Floats, curve: ScalingCurve) -> Floats:
    """t(n) / t(1) [draws, points] for draws of the parameters [draws]."""
    shared = sum(parameters[name][:, None] * term for name, term in terms(curve).items())
    leaves = np.asarray(curve.workers, float) > host_sizes[:, None]
    result: Floats = np.asarray(curve.batch or 1.0) + shared + parameters["hosts"][:, None] * leaves
    return result
