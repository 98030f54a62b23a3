"""Runs under mpiexec: the workload from the same start with the compiled kernel and with daal4py, twice."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from mpi4py import MPI

from workshop.core.errors import BadInput
from workshop.engine.context import Memory, RankContext
from workshop.workloads.kmeans import WORKLOAD

BLOBS = {"data": "blobs", "points": 20_003, "features": 5, "clusters": 7, "init": "random", "tolerance": 0}


def main() -> None:
    comm = MPI.COMM_WORLD
    sinks = []

    def run(**values):
        sinks.append(Memory())
        return WORKLOAD.load()(RankContext(comm, sinks[-1]), WORKLOAD.check({**BLOBS, **values}))

    found = {"ranks": comm.size, "library": MPI.Get_library_version()}
    for dtype in ("float32", "float64"):
        found[f"numpy {dtype}"] = run(dtype=dtype, backend="numpy")
        found[f"daal4py {dtype}"] = run(dtype=dtype, backend="daal4py")
    found["inertias"] = [[value for _, name, _, value in sink.events if name == "inertia"] for sink in sinks[-2:]]
    found["names"] = comm.gather(sorted({name for _, name, _, _ in sinks[-1].events}))
    stream = {"points": 20_001, "mode": "online", "batch": 2_000}  # the last batch has one point, so a rank has none
    for backend in ("numba", "daal4py"):
        for dtype in ("float32", "float64"):
            found[f"stream {backend} {dtype}"] = run(**stream, dtype=dtype, backend=backend)
    try:
        run(points=comm.size * 7 - 1, backend="daal4py")
    except BadInput as error:
        found["too few"] = str(error)
    if comm.rank == 0:
        Path(sys.argv[1]).write_text(json.dumps(found, allow_nan=False))


if __name__ == "__main__":
    main()
