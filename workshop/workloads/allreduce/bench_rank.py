"""One rank of the all-reduce bench: `python -m workshop.workloads.allreduce.bench_rank FOLDER`.

Measures at every order, and answers from rank 0: `{"method", "sizes", "repeats"}` with the median seconds of
each size, or why the method can't be had; `{"memory": true}` with what memory allows.
"""

from __future__ import annotations

import statistics
import sys
from collections.abc import Callable, Mapping
from typing import Any

from mpi4py import MPI

from workshop.bench.crew import answer, orders
from workshop.workloads.allreduce.methods import method, obstacle
from workshop.workloads.allreduce.run import measure, memory_bandwidth


def follow(comm: Any, order: Mapping[str, Any]) -> dict[str, Any]:
    """The answer to an order, which all ranks have got. Collective."""
    if order.get("memory"):
        return {"memory_bandwidth": memory_bandwidth(comm)}
    if (reason := obstacle(order["method"], comm)) is not None:
        return {"obstacle": reason}
    with method(order["method"], comm) as prepare:
        seconds = [statistics.median(measure(comm, prepare, size, order["repeats"])) for size in order["sizes"]]
    return {"seconds": seconds}


def main(follow: Callable[[Any, Mapping[str, Any]], dict[str, Any]] = follow) -> None:
    """Follow orders until there are no more."""
    comm = MPI.COMM_WORLD
    for order in orders(sys.argv[1], comm.rank):
        result = follow(comm, order)
        if comm.rank == 0:
            answer({"ranks": comm.size, **result})


if __name__ == "__main__":
    main()
