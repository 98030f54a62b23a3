"""One rank of the bench of collectives: `python -m workshop.workloads.collectives.bench_rank FOLDER`.

At every order, rank 0 answers: `{"operation", "sizes", "iterations"}` with the times of each size, and
`{"algorithms", "sizes"}` with the algorithms of each collective, or why they aren't known.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import astuple
from typing import Any

from mpi4py import MPI

from workshop.bench.crew import answer, orders
from workshop.workloads.collectives.algorithms import chosen, obstacle
from workshop.workloads.collectives.operations import measure

BUDGET = 0.02  # seconds for each size in a turn


def follow(comm: Any, order: Mapping[str, Any]) -> dict[str, Any]:
    """The answer to an order, which all ranks have got. Collective."""
    if "algorithms" in order:
        unknown = obstacle(comm)
        names = [] if unknown else order["algorithms"]
        return {"unknown": unknown, "algorithms": {name: chosen(comm, name, order["sizes"]) for name in names}}
    name, iterations = order["operation"], order["iterations"]
    return {"timings": [astuple(measure(comm, name, size, iterations, BUDGET)) for size in order["sizes"]]}


def main() -> None:
    """Follow orders until there are no more."""
    comm = MPI.COMM_WORLD
    for order in orders(sys.argv[1], comm.rank):
        result = follow(comm, order)
        if comm.rank == 0:
            answer({"ranks": comm.size, **result})


if __name__ == "__main__":
    main()
