"""Runs under MPICH's launcher: the workload with daal4py, against scikit-learn."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from mpi4py import MPI

from workshop.core.errors import BadInput
from workshop.engine.context import RankContext
from workshop.workloads.regression import WORKLOAD


def main() -> None:
    comm = MPI.COMM_WORLD
    results = {}

    def run(name, **values):
        params = WORKLOAD.check({"rows": 5003, "features": 6, "verify": True, "backend": "daal4py", **values})
        try:
            results[name] = WORKLOAD.load()(RankContext(comm), params)
        except BadInput as error:
            results[name] = str(error)

    run("linear")
    run("ridge", penalty=7.0)
    run("few", rows=1, features=1, penalty=1.0)
    if comm.rank == 0:
        Path(sys.argv[1]).write_text(json.dumps(results, allow_nan=False))


if __name__ == "__main__":
    main()
