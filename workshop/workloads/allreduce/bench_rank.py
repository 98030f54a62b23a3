"""One rank of the all-reduce bench: `python -m workshop.workloads.allreduce.bench_rank FOLDER`.

Measures whenever it is told to, and answers from rank 0: `{"method", "sizes", "repeats"}` with the median seconds of
each size, or why the method can't be had; `{"memory": true}` with what memory allows.
"""

from __future__ import annotations

import statistics
import sys
from collections.abc import Mapping
from typing import Any

from mpi4py import MPI

from workshop.bench.crew import answer, orders
from workshop.workloads.allreduce.methods import method, why_not
from workshop.workloads.allreduce.run import measure, memory_bandwidth


def follow(comm: Any, order: Mapping[str, Any]) -> dict[str, Any]:
    """The answer to an order, which all ranks have got. Collective."""
    told: dict[str, Any] = {"ranks": comm.size}
    if order.get("memory"):
        return told | {"memory_bandwidth": memory_bandwidth(comm)}
    if (reason := why_not(order["method"], comm)) is not None:
        return told | {"why_not": reason}
    with method(order["method"], comm) as prepare:
        seconds = [statistics.median(measure(comm, prepare, size, order["repeats"])) for size in order["sizes"]]
    return told | {"seconds": seconds}


def main() -> None:
    """Follow orders until there are no more."""
    comm = MPI.COMM_WORLD
    for order in orders(sys.argv[1], comm.rank):
        found = follow(comm, order)
        if comm.rank == 0:
            answer(found)


if __name__ == "__main__":
    main()
