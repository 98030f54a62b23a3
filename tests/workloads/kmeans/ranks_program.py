"""Runs under mpirun: fits shards of the same points in several ways, and rank 0 writes what came out."""

from __future__ import annotations

import json
import sys
import time
from itertools import product
from pathlib import Path

import numpy as np
from mpi4py import MPI

from tests.workloads.kmeans.oracle import blobs
from workshop.engine.context import Memory, RankContext
from workshop.engine.data import shard
from workshop.extension import no_artifacts
from workshop.workloads.kmeans import WORKLOAD
from workshop.workloads.kmeans.lloyd import centre, fit, kernel, plus_plus, random_points

SIZE, FEATURES, CLUSTERS = 2003, 3, 9
CASES = list(product(("numpy", "numba"), ("float32", "float64")))


def points_of(dtype):
    return blobs(SIZE, FEATURES, CLUSTERS, dtype)


def start_of(points, empty):
    begin = points[:CLUSTERS].copy()
    if empty:
        begin[3] = -1e3  # nobody's nearest
    return begin


class StopOnOne(Memory):
    """Only the last rank hears of the stop, and only in its own third iteration."""

    def __init__(self, last):
        super().__init__()
        self.last = last

    def stop_requested(self):
        return self.last and any(step == 3 for _, _, step, _ in self.events)


def main() -> None:
    comm = MPI.COMM_WORLD
    found = {"ranks": comm.size, "fits": {}, "starts": {}}
    for (backend, dtype), empty in product(CASES, (False, True)):
        points = points_of(dtype)
        mine = points[slice(*shard(SIZE, comm.size, comm.rank))]
        begin = start_of(points, empty)
        centroids, inertia, number, labels = fit(RankContext(comm), kernel(backend), mine, begin, 10, 0.0)
        everybody = comm.gather(labels)
        agreed = comm.allreduce(centroids.tobytes() == comm.bcast(centroids.tobytes()), op=MPI.LAND)
        if comm.rank == 0:
            found["fits"][f"{backend} {dtype} {empty}"] = {
                "centroids": centroids.tolist(),
                "inertia": inertia,
                "iterations": number,
                "labels": np.concatenate(everybody).tolist(),
                "alike_on_all_ranks": agreed,
            }
    for backend, dtype in CASES:
        mine = points_of(dtype)[slice(*shard(SIZE, comm.size, comm.rank))]
        own = kernel(backend)(mine, centre(comm, mine))
        for name, choose in (("k-means++", plus_plus), ("random", random_points)):
            chosen = choose(comm, own, CLUSTERS, 4) + centre(comm, mine)
            found["starts"][f"{backend} {dtype} {name}"] = chosen.tolist()

    # More ranks than points, a photo, a stream, and a stop that only one rank hears of.
    def run(sink=None, **values):
        params = WORKLOAD.check(values)
        return WORKLOAD.load()(RankContext(comm, sink, WORKLOAD.inputs(params, no_artifacts)), params)

    found["tiny"] = run(data="blobs", points=3, clusters=2)
    found["photo"] = run(clusters=5)
    found["stream"] = run(data="blobs", mode="online", points=5001, batch=500, clusters=4)
    sink = StopOnOne(comm.rank == comm.size - 1)
    began = time.perf_counter()
    stopped = run(sink, clusters=16, tolerance=0.0)
    found["stopped"] = comm.gather([stopped["stopped"], stopped["iterations"], time.perf_counter() - began])
    found["events"] = comm.gather(sorted({name for _, name, _, _ in sink.events}))
    if comm.rank == 0:
        Path(sys.argv[1]).write_text(json.dumps(found, allow_nan=False))


if __name__ == "__main__":
    main()
