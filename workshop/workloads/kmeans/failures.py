"""Guided failures of placements that k-means shows: too few cores, and hosts that can't be reached."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from workshop.core.placement import POLLING, Host, Placement
from workshop.extension import Failure

BLOBS: Mapping[str, Any] = {"data": "blobs", "points": 2_000_000, "clusters": 32, "iterations": 30, "tolerance": 0}
MISSING_HOST = "node-that-left"


def failures(cores: int, hosts: Sequence[Host], mpis: Collection[str]) -> Sequence[Failure]:
    """Those for a machine, or for each of several hosts, with so many cores."""
    ranks = 2 * cores
    polling = (
        Placement(mpi="mpich", ranks=ranks, bind_to="none", threads=1)
        if "mpich" in mpis
        else Placement(ranks=ranks, bind_to="none", oversubscribe=True, threads=1, environment={POLLING: "0"})
    )
    slots = sum(host.slots for host in hosts)
    stale = (*hosts, Host(name=MISSING_HOST, slots=2))
    return (
        Failure(
            "shared-core",
            "Two ranks on one core",
            "One rank too many is bound to a core that has a rank already: these two take turns on it.",
            "kmeans",
            BLOBS,
            Placement(ranks=cores + 1, map_by="core", bind_to="core", oversubscribe=True, threads=1),
            Placement(ranks=cores, map_by="core", bind_to="core", threads=1),
            "The picture shows two colours on one core. Which ranks compute in the meantime, and which wait?",
            "Oversubscribed",
            order=100,
        ),
        Failure(
            "too-many-threads",
            f"{ranks} ranks × 4 threads on {cores} cores",
            "Every library starts as many threads as it is told, whatever there is to run them on.",
            "kmeans",
            {**BLOBS, "points": 500_000, "backend": "numpy"},  # whose BLAS has threads
            Placement(ranks=ranks, threads=4, bind_to="none", oversubscribe=True),
            Placement(ranks=cores, threads=1),
            f"{4 * ranks} threads have {cores} cores to take turns on. How long do ranks wait for those that had no "
            "turn?",
            "Oversubscribed",
            order=200,
        ),
        Failure(
            "polling",
            "An MPI that polls, on too few cores",
            "A rank that waits by asking again and again keeps the core from the rank that it waits for.",
            "kmeans",
            {**BLOBS, "points": 200_000, "iterations": 60},
            polling,
            Placement(ranks=ranks, bind_to="none", oversubscribe=True, threads=1),
            "As many ranks on the same cores, with an MPI whose waiting ranks yield. Compare the time of an iteration."
            if "mpich" in mpis
            else "The same ranks on the same cores; only the waiting ranks yield. Compare the time of an iteration.",
            "Ranks that wait keep their cores",
            order=500,
        ),
        Failure(
            "stale-hosts",
            "A hosts file that is out of date",
            "One host that can't be reached keeps all ranks from starting, and mpirun says so late.",
            "kmeans",
            BLOBS,
            Placement(ranks=slots + 2, hosts=stale, threads=1),
            Placement(ranks=slots, hosts=tuple(hosts), threads=1),
            f"The check before the start names {MISSING_HOST}; nothing has been started anywhere.",
            "",
            needs_hosts=True,
            order=600,
        ),
    )
