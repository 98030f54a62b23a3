"""Lloyd's iterations as daal4py makes them: Intel's oneDAL, which exchanges over MPI by itself.

It runs on x86-64, under MPICH or Intel MPI, with which it was built, and lives in a folder of its own: what it depends
on would take the place of packages that the environment has.
"""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from workshop.core import config
from workshop.core.errors import BadInput
from workshop.engine.context import RankContext, library
from workshop.mpi import prefix

if TYPE_CHECKING:
    from workshop.workloads.kmeans.lloyd import LloydStep

# daal4py with what it loads; not its dependency on scikit-learn, which the environment has.
PACKAGES = ("scikit-learn-intelex==2026.2.0", "daal==2026.2.0", "tbb==2023.2.0", "tcmlib==1.6.0")
INSTALL = "workshop mpi install daal4py"
NUMBERS = {"float32": "float", "float64": "double"}


def folder() -> Path:
    """Where `INSTALL` puts it."""
    return config.cache_folder("bench") / "daal4py"


def install() -> Path:
    """Put daal4py into its folder, and return that. Raises WorkshopError."""
    prefix.install_packages(folder(), PACKAGES)
    return folder()


def missing(mpis: Collection[str]) -> dict[str, str]:
    """Which backend can't be had on this machine under any of these MPIs, and why."""
    if not set(mpis) & {"mpich", "intelmpi"}:
        return {"daal4py": "it needs MPICH or Intel MPI; `workshop mpi install mpich` installs one"}
    try:
        check_here()
    except BadInput:
        return {"daal4py": f"it is not installed; `{INSTALL}` does that"}
    return {}


def usable(values: Mapping[str, Any], mpi: str, ranks: int) -> dict[str, Any] | None:
    """Return the tuner's values as they are; None where they don't go with the MPI: daal4py is for MPICH's kind."""
    return None if values.get("backend") == "daal4py" and mpi == "openmpi" else dict(values)


def path() -> str | None:
    """The folder that Python finds daal4py in, where it is installed."""
    packages = [package.parent for package in folder().glob("lib*/python*/site-packages/daal4py")]
    return str(packages[0]) if packages else None


def check_here() -> None:
    """Raises BadInput where this machine can't run the backend with any MPI."""
    if platform.machine() != "x86_64":
        raise BadInput(f"daal4py runs on x86-64 alone, this is {platform.machine()}; choose the backend numba.")
    if path() is None:
        raise BadInput(f"daal4py is not installed; `{INSTALL}` does that. Or choose the backend numba.")


def load(ctx: RankContext, points: int, clusters: int) -> Any:
    """Import daal4py, ready to be used; takes seconds. `points` are this rank's. Collective.

    Raises BadInput, on all ranks alike, where these ranks can't run it.
    """
    from mpi4py import MPI

    check_here()
    if not library().startswith(("MPICH", "Intel")):
        raise BadInput(
            f"daal4py needs MPICH or Intel MPI, these ranks run under {library()}; "
            "start them with --mpi mpich, or choose the backend numba."
        )
    if (least := ctx.comm.allreduce(points, op=MPI.MIN)) < clusters:
        raise BadInput(
            f"daal4py needs as many points on every rank as there are clusters: one has {least}, for {clusters} "
            "clusters; take fewer ranks, or choose the backend numba."
        )
    extra = path() or ""
    sys.path.append(extra)
    try:
        import daal4py
    finally:
        sys.path.remove(extra)
    daal4py.daalinit(int(os.environ.get("OMP_NUM_THREADS") or 1))
    return daal4py


def lloyd(
    daal4py: Any, ctx: RankContext, points: NDArray[np.floating], centroids: NDArray[np.floating], tolerance: float
) -> Iterator[LloydStep]:
    """Iterations from the given centroids (k, features) over all ranks' `points` (n, features), as `lloyd.lloyd`.

    One call for each, so that each can be seen; what ranks exchange is within that call, and counts as computing.
    Labels are not told.
    """
    from workshop.workloads.kmeans.lloyd import LloydStep  # not above: who submits a run never touches MPI

    settings = {"fptype": NUMBERS[points.dtype.name], "accuracyThreshold": 0, "assignFlag": False, "distributed": True}
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
