"""One rank of the bench of collectives: `python -m workshop.workloads.collectives.bench_rank FOLDER`.

At every order, rank 0 answers: `{"operation", "sizes", "iterations"}` with the times of each size, and
`{"algorithms", "sizes"}` with the algorithms of each collective, or why they aren't known.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from workshop.workloads.allreduce.bench_rank import main
from workshop.workloads.collectives.algorithms import chosen, obstacle
from workshop.workloads.collectives.operations import measure

BUDGET = 0.02  # seconds for each size in a turn


def follow(comm: Any, order: Mapping[str, Any]) -> dict[str, Any]:
    """The answer to an order, which all ranks have got. Collective."""
    sizes = order["sizes"]
    if "algorithms" in order:
        unknown = obstacle(comm)
        names = [] if unknown else order["algorithms"]
        return {"unknown": unknown, "algorithms": {name: chosen(comm, name, sizes) for name in names}}
    return {"timings": [measure(comm, order["operation"], size, order["iterations"], BUDGET) for size in sizes]}


if __name__ == "__main__":
    main(follow)
