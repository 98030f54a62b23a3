"""Lloyd's iterations as daal4py makes them: Intel's oneDAL, which exchanges over MPI by itself.

daal4py's k-means has no mode for a stream: `kmeans` takes `distributed`, but not the `streaming` that `covariance` and
others take (daal4py 2026.2). There it labels the points, and the running means are ours.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from workshop.core.errors import BadInput
from workshop.engine.context import RankContext, library
from workshop.mpi import daal
from workshop.workloads.kmeans.numpy_kernel import Floats, NumpyShard, totals

if TYPE_CHECKING:
    from workshop.workloads.kmeans.lloyd import LloydStep

INSTEAD = "numba"


def load(ctx: RankContext, points: int, clusters: int) -> Any:
    """Import daal4py, ready to be used; takes seconds. `points` are this rank's, `clusters` those that daal4py finds
    together with other ranks: 0 in a stream. Collective.

    Raises BadInput, on all ranks alike, where these ranks can't run it.
    """
    from mpi4py import MPI

    package = daal.load(library(), INSTEAD)
    if (least := ctx.comm.allreduce(points, op=MPI.MIN)) < clusters:
        raise BadInput(
            f"daal4py needs as many points on every rank as there are clusters: one has {least}, for {clusters} "
            f"clusters; take fewer ranks, or choose the backend {INSTEAD}."
        )
    return package


class DaalShard(NumpyShard):
    """One rank's points, as the kernel of `numpy` has them, but labelled by daal4py, which `load` has imported."""

    def update(self, centroids: Floats) -> int:
        """Give every point the label of its nearest centroid (k, features). Returns how many changed."""
        import daal4py

        before = self.labels
        if self.size:  # daal4py refuses no points
            settings = {"fptype": daal.NUMBERS[self.dtype.name], "assignFlag": True}
            algorithm = daal4py.kmeans(len(centroids), 0, **settings)  # no iteration: it labels by these centroids
            self.labels = algorithm.compute(self.points, centroids.astype(self.dtype)).assignments.ravel()
        self.sums, self.counts = totals(self.points, self.labels, len(centroids))
        return int(np.count_nonzero(self.labels != before))


def lloyd(daal4py: Any, ctx: RankContext, points: Floats, centroids: Floats, tolerance: float) -> Iterator[LloydStep]:
    """Iterations from the given centroids (k, features) over all ranks' `points` (n, features), as `lloyd.lloyd`.

    One call for each, so that each can be seen; what ranks exchange is within that call, and counts as computing.
    Labels are not told.
    """
    from workshop.workloads.kmeans.lloyd import LloydStep  # not above: who submits a run never touches MPI

    settings = {
        "fptype": daal.NUMBERS[points.dtype.name],
        "accuracyThreshold": 0,
        "assignFlag": False,
        "distributed": True,
    }
    number = 0
    while True:
        number += 1
        ctx.synchronise()
        with ctx.phase("compute"):
            result = daal4py.kmeans(len(centroids), 1, **settings).compute(points, centroids)
            before, centroids = centroids, np.asarray(result.centroids)
            shift = np.square(centroids.astype(np.float64) - before).sum(axis=1)
        inertia, moved = float(np.ravel(result.objectiveFunction)[0]), int(np.count_nonzero(shift))
        yield LloydStep(number, centroids, inertia, moved, None, float(shift.sum()) <= tolerance)
