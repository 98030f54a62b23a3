"""Runs under MPICH's launcher: the workload with daal4py, against scikit-learn."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from mpi4py import MPI

from workshop.engine.context import RankContext
from workshop.workloads.regression import WORKLOAD


def main() -> None:
    comm = MPI.COMM_WORLD
    results = {}

    def run(name, **values):
        params = WORKLOAD.check({"rows": 5003, "features": 6, "verify": True, "backend": "daal4py", **values})
        results[name] = WORKLOAD.load()(RankContext(comm), params)

    run("linear")
    run("ridge", penalty=7.0)
    if comm.rank == 0:
        Path(sys.argv[1]).write_text(json.dumps(results, allow_nan=False))


if __name__ == "__main__":
    main()
