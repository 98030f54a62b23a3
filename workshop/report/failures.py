"""Placements that go wrong in instructive ways, ready to run, each with the one that mends it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from workshop.core.errors import BadInput
from workshop.core.placement import POLLING, Host, Placement

BLOBS: Mapping[str, Any] = {"data": "blobs", "points": 2_000_000, "clusters": 32, "iterations": 30, "tolerance": 0}
TRAINING: Mapping[str, Any] = {"data": "digits", "epochs": 6}
EXAMPLES = (Host(name="node1", slots=2), Host(name="node2", slots=2))  # shown where a session has no hosts
LEFT = "node-that-left"


@dataclass(frozen=True)
class Failure:
    """A placement that fails, and its fix. Both run the same workload, so that the two runs can be compared."""

    name: str
    title: str
    shows: str  # what it teaches, in one sentence
    workload: str
    params: Mapping[str, Any]
    broken: Placement
    fixed: Placement
    look_for: str
    verdict: str  # what the verdict of the broken run begins with
    needs_hosts: bool = field(default=False)  # whether it is about a session over several hosts

    def as_json(self) -> dict[str, Any]:
        """The failure with its placements in their stored form."""
        return {**vars(self), "broken": self.broken.as_json(), "fixed": self.fixed.as_json()}


def failures(cores: int, hosts: Sequence[Host] = (), mpich: bool = False) -> tuple[Failure, ...]:
    """All of them for a machine (or for each of several hosts) with so many cores.

    `hosts` are the session's, if it has several; `mpich` says whether that MPI is there, which polls by nature.
    """
    some = tuple(hosts) if len(hosts) > 1 else EXAMPLES
    return (
        _shared_core(cores),
        _too_many_threads(cores),
        _one_core_two_threads(),
        _first_host(cores, some),
        _polling(cores, mpich),
        _stale_hosts(some),
    )


def failure(name: str, cores: int, hosts: Sequence[Host] = (), mpich: bool = False) -> Failure:
    """The failure of that name. Raises BadInput for another name."""
    known = {one.name: one for one in failures(cores, hosts, mpich)}
    if name not in known:
        raise BadInput(f"There is no failure {name!r}; there are {', '.join(known)}.")
    return known[name]


def _shared_core(cores: int) -> Failure:
    return Failure(
        "shared-core",
        "Two ranks on one core",
        "One rank too many is bound to a core that has a rank already: these two take turns on it.",
        "kmeans",
        BLOBS,
        Placement(ranks=cores + 1, map_by="core", bind_to="core", oversubscribe=True, threads=1),
        Placement(ranks=cores, map_by="core", bind_to="core", threads=1),
        "The picture shows two colours on one core. Which ranks compute in the meantime, and which wait?",
        "Oversubscribed",
    )


def _too_many_threads(cores: int) -> Failure:
    ranks = 2 * cores
    return Failure(
        "too-many-threads",
        f"{ranks} ranks x 4 threads on {cores} cores",
        "Every library starts as many threads as it is told, whatever there is to run them on.",
        "kmeans",
        {**BLOBS, "points": 500_000, "backend": "numpy"},  # whose BLAS has threads; the compiled kernel has one a rank
        Placement(ranks=ranks, threads=4, bind_to="none", oversubscribe=True),
        Placement(ranks=cores, threads=1),
        f"{4 * ranks} threads have {cores} cores to take turns on. How long do ranks wait for those that had no turn?",
        "Oversubscribed",
    )


def _one_core_two_threads() -> Failure:
    return Failure(
        "threads-on-one-core",
        "One rank, two threads, one core",
        "A rank that is bound to one core keeps all of its threads there, however many it starts.",
        "mnist",  # TensorFlow's kernels use both threads; the compiled one of k-means has one
        TRAINING,
        Placement(ranks=1, map_by="core", bind_to="core", threads=2),
        Placement(ranks=1, cores_per_rank=2, bind_to="core", threads=2),
        "Where was each thread seen? Compare how many images a second the two runs read.",
        "Oversubscribed: each rank has more threads than cores.",
    )


def _first_host(cores: int, hosts: Sequence[Host]) -> Failure:
    ranks = max(min(len(hosts), cores), 2)  # with fewer cores than slots a host would not be filled up
    crowded = tuple(host.model_copy(update={"slots": max(host.slots, ranks)}) for host in hosts)
    return Failure(
        "first-host",
        "All ranks on the first host",
        "Open MPI fills a host before it goes on to the next one, so few ranks never leave the first.",
        "mnist",
        TRAINING,
        Placement(ranks=ranks, hosts=crowded, map_by="slot", threads=1),
        Placement(ranks=ranks, hosts=crowded, map_by="node", bind_to="core", threads=1),
        "The rank map has one host alone; on the others nothing runs. Which of the two runs is faster?",
        "All ranks are on the first host",
        needs_hosts=True,
    )


def _polling(cores: int, mpich: bool) -> Failure:
    ranks = 2 * cores
    polling = (
        Placement(mpi="mpich", ranks=ranks, bind_to="none", threads=1)
        if mpich
        else Placement(ranks=ranks, bind_to="none", oversubscribe=True, threads=1, environment={POLLING: "0"})
    )
    return Failure(
        "polling",
        "An MPI that polls, on too few cores",
        "A rank that waits by asking again and again keeps the core from the rank that it waits for.",
        "kmeans",
        {**BLOBS, "points": 200_000, "iterations": 60},
        polling,
        Placement(ranks=ranks, bind_to="none", oversubscribe=True, threads=1),
        "As many ranks on the same cores, with an MPI whose waiting ranks yield. Compare the time of an iteration."
        if mpich
        else "The same ranks on the same cores; only the waiting ranks yield. Compare the time of an iteration.",
        "Ranks that wait keep their cores",
    )


def _stale_hosts(hosts: Sequence[Host]) -> Failure:
    ranks = sum(host.slots for host in hosts)
    stale = (*hosts, Host(name=LEFT, slots=2))
    return Failure(
        "stale-hosts",
        "A hosts file that is out of date",
        "One host that can't be reached keeps all ranks from starting, and mpirun says so late.",
        "kmeans",
        BLOBS,
        Placement(ranks=ranks + 2, hosts=stale, threads=1),
        Placement(ranks=ranks, hosts=tuple(hosts), threads=1),
        f"The check before the start names {LEFT}; nothing has been started anywhere.",
        "",
        needs_hosts=True,
    )
