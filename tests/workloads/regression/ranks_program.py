"""Runs under mpirun: fits shares of the same rows in several ways, and rank 0 writes what came out."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
from mpi4py import MPI

from tests.workloads.regression.oracle import CASES, SIZE, rows_of
from workshop.core.errors import BadInput
from workshop.engine.context import Memory, RankContext
from workshop.engine.data import shard
from workshop.workloads.regression import WORKLOAD
from workshop.workloads.regression.fit import fit

BLOCK = 500
SETTINGS = {"rows": 4000, "features": 6, "verify": True}


def main() -> None:
    comm = MPI.COMM_WORLD
    ctx = RankContext(comm)
    results = {"ranks": comm.size, "fits": {}, "runs": {}, "errors": {}, "events": []}

    def fitted(blocks, **options):
        result = fit(ctx, blocks, **options)
        same = comm.bcast(result.coefficients.tobytes()) == result.coefficients.tobytes()
        return vars(result) | {
            "coefficients": [*result.coefficients.tolist(), result.intercept],
            "alike_on_all_ranks": comm.allreduce(same, op=MPI.LAND),
        }

    for name, case in CASES.items():
        features, targets = rows_of(**case)
        part = slice(*shard(SIZE, comm.size, comm.rank))
        results["fits"][name] = fitted([(features[part], targets[part])], penalty=case["penalty"])
        blocks = []
        for first in range(0, SIZE, BLOCK):
            begin, end = shard(min(BLOCK, SIZE - first), comm.size, comm.rank)
            blocks.append((features[first + begin : first + end], targets[first + begin : first + end]))
        results["fits"][f"{name} streaming"] = fitted(blocks, penalty=case["penalty"])

    def refused(name, features, targets):
        try:
            fit(ctx, [(features, targets)])
        except BadInput as error:
            results["errors"][name] = comm.gather(str(error))

    features, targets = rows_of(4)
    part = slice(*shard(SIZE, comm.size, comm.rank))
    features, targets = features[part].copy(), targets[part].copy()
    copied = np.column_stack([features, features[:, 0]])
    refused("singular", copied, targets)
    copied[:, 4] += 1e-7 * features[:, 1]
    refused("nearly singular", copied, targets)

    def run(name, **values):
        sink = Memory()
        params = WORKLOAD.check({**SETTINGS, **values})
        results["runs"][name] = WORKLOAD.load()(RankContext(comm, sink), params)
        results["events"] = comm.gather(sorted({event for _, event, _, _ in sink.events}))

    run("batch")
    run("float32", dtype="float32")
    run("ridge", penalty=2.0)
    run("streaming", mode="streaming", block=700)
    run("few rows", rows=3, features=2, fits=1)
    if comm.rank == 0:
        Path(sys.argv[1]).write_text(json.dumps(results, allow_nan=False))


if __name__ == "__main__":
    main()
