"""The function of every rank: it throws darts at a square, and counts hits of the circle in it."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from typing import Any

import numpy as np

from workshop.engine.context import RankContext

from . import MyWorkloadParams


def run(ctx: RankContext, params: MyWorkloadParams) -> Mapping[str, Any]:
    """Estimate pi, and return the run's metrics. Collective.

    Rank 0 tells two events after each step: `estimate`, and `total darts/s` of all ranks.
    """
    random = np.random.default_rng([params.seed, ctx.rank])
    hits = thrown = 0
    began = time.perf_counter()
    for step in range(params.steps):
        with ctx.phase("compute"):
            x, y = random.random((2, params.darts))
            own_hits = int(np.count_nonzero(x * x + y * y <= 1))
        with ctx.phase("communicate"):
            hits += ctx.comm.allreduce(own_hits)
        thrown += params.darts * ctx.size
        ctx.end_step(step)
        seconds = time.perf_counter() - began
        if ctx.rank == 0:
            ctx.emit("estimate", 4 * hits / thrown, step)
            ctx.emit("total darts/s", thrown / seconds, step)
        ctx.progress(step + 1, params.steps)
        if ctx.stop_requested():  # on all ranks or on none
            break
    estimate = 4 * hits / thrown
    metrics = {"estimate": estimate, "error": abs(estimate - math.pi), "darts": thrown}
    return metrics | {"seconds": seconds, "darts_per_second": thrown / seconds}
