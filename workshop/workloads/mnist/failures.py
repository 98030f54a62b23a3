"""Guided failures of placements that the training shows, whose kernels use several threads."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from workshop.core.placement import Host, Placement
from workshop.extension import Failure

TRAINING: Mapping[str, Any] = {"data": "digits", "epochs": 6}


def failures(cores: int, hosts: Sequence[Host], mpis: Collection[str]) -> Sequence[Failure]:
    """Those for a machine, or for each of several hosts, with so many cores."""
    ranks = max(min(len(hosts), cores), 2)  # with fewer cores than slots a host would not be filled up
    crowded = tuple(host.model_copy(update={"slots": max(host.slots, ranks)}) for host in hosts)
    return (
        Failure(
            "threads-on-one-core",
            "One rank, two threads, one core",
            "A rank that is bound to one core keeps all of its threads there, however many it starts.",
            "mnist",  # TensorFlow's kernels use both threads; the compiled one of k-means has one
            TRAINING,
            Placement(ranks=1, map_by="core", bind_to="core", threads=2),
            Placement(ranks=1, cores_per_rank=2, bind_to="core", threads=2),
            "Where was each thread seen? Compare how many images a second the two runs read.",
            "Oversubscribed: each rank has more threads than cores.",
            order=300,
        ),
        Failure(
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
            order=400,
        ),
    )
