"""All-reduce on every MPI that is here, by message size and method, against what memory allows.

Ratios compare speeds at the largest size: a method's with that of the same MPI's own (`ring_vs_own_openmpi`), an MPI's
own with Open MPI's (`mpich_vs_openmpi`, and `…_latency` at the smallest size), and its bus bandwidth with what a rank
copies in memory while all do (`openmpi_vs_memory`).
"""

from __future__ import annotations

import statistics
import sys
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from functools import partial
from typing import Any

from benchmarks import Document, Row, document, interleaved, machine, missing, ratio, row
from benchmarks.processes import Order, answer, orders, waiting_ranks
from workshop import mpi
from workshop.core import topology
from workshop.core.errors import BadInput, WorkshopError
from workshop.core.placement import Placement
from workshop.workloads.allreduce import WORKLOAD
from workshop.workloads.allreduce.curves import AllReduceCurve

MEMORY = "memory_bandwidth"
WITHIN = 3  # least repeats of a size in a turn
Answer = dict[str, Any]


def run(
    repeats: int = 5,
    mpis: tuple[str, ...] = ("openmpi", "mpich", "intelmpi"),
    ranks: int = 2,
    largest: int = 64 << 20,
    methods: str = "",
) -> Document:
    """Measure; returns the document. Raises WorkshopError."""
    given = {"largest": largest, **({"methods": methods} if methods else {})}
    settings: Any = WORKLOAD.check(given)
    where, about = machine(("numpy", "mpi4py")), mpi.mpis()
    if unknown := [name for name in mpis if name not in about]:
        raise BadInput(f"There is no MPI {', '.join(unknown)}; there are {', '.join(about)}.")
    installed = [name for name in mpis if about[name]["where"]]
    where["versions"] |= {name: about[name]["version"] for name in installed}
    with ExitStack() as stack:
        turns: dict[str, Callable[[], Answer]] = {}
        for name in installed:
            order = start(stack, name, ranks)
            for method in settings.chosen:
                what = {"method": method, "sizes": settings.sizes, "repeats": WITHIN}
                turns[f"{name}_{method}"] = partial(order, what)
            turns.setdefault(MEMORY, partial(order, {"memory": True}))
        results = interleaved(turns, repeats)
    rows = [missing(name, "s", about[name]["note"]) for name in mpis if name not in installed]
    for name in installed:
        for method in settings.chosen:
            rows += by_size(name, method, settings.sizes, ranks, results[f"{name}_{method}"])
    copied = [found[MEMORY] for found in results.get(MEMORY, [])]
    rows += [row(MEMORY, copied, "bytes/s of each rank", ranks=ranks)] if copied else []
    return document(
        {**where, "placement": Placement(ranks=ranks).describe()}, rows + ratios(results, settings.sizes, ranks)
    )


def start(stack: ExitStack, name: str, ranks: int) -> Order:
    """Start ranks of an MPI, which end with the stack. An order raises WorkshopError where they are not so many."""
    placement, module = Placement(mpi=name, ranks=ranks), mpi.module_of(name)
    options = module.arguments(placement, topology.allowed_cores(topology.machine()))
    command = [module.launcher(), "-n", str(ranks), *options, sys.executable, "-m", "benchmarks.allreduce"]
    environment = placement.rank_environment() | module.environment(placement)
    order = stack.enter_context(waiting_ranks(name, command, ranks, environment))

    def ask(what: Mapping[str, Any]) -> Answer:
        found = order(what)
        if found["ranks"] != ranks:
            raise WorkshopError(f"{found['ranks']} ranks of {name} found each other instead of {ranks}.")
        return found

    return ask


def by_size(name: str, method: str, sizes: list[int], ranks: int, answers: list[Answer]) -> list[Row]:
    """A row for each size; one alone where the method can't be had."""
    if reason := next((found["obstacle"] for found in answers if "obstacle" in found), None):
        return [missing(f"{name}_{method}", "s", f"{reason[:1].upper()}{reason[1:]}.")]
    rows = []
    for number, size in enumerate(sizes):
        line = row(f"{name}_{method}_{size}B", [found["seconds"][number] for found in answers], "s")
        curve = AllReduceCurve(method, (size,), (line["value"],), ranks)
        facts = {"mpi": name, "method": method, "bytes": size, "ranks": ranks}
        rows.append(line | facts | {"algorithm_bandwidth": curve.algorithm[0], "bus_bandwidth": curve.bus[0]})
    return rows


def ratios(results: Mapping[str, list[Answer]], sizes: list[int], ranks: int) -> list[Row]:
    """How speeds compare, as the head of this module says."""
    seconds = {
        name: [found["seconds"] for found in answers]
        for name, answers in results.items()
        if all("seconds" in found for found in answers)
    }
    rows = []
    for name, took in seconds.items():
        library, _, method = name.partition("_")
        last = [each[-1] for each in took]
        own, first = seconds.get(f"{library}_own"), seconds.get("openmpi_own")
        if method != "own":
            rows += [ratio(f"{method}_vs_own_{library}", [each[-1] for each in own], last)] if own else []
            continue
        if first and library != "openmpi":
            rows.append(ratio(f"{library}_vs_openmpi", [each[-1] for each in first], last))
            rows.append(ratio(f"{library}_vs_openmpi_latency", [each[0] for each in first], [each[0] for each in took]))
        if ranks > 1:
            bus = [AllReduceCurve(method, (sizes[-1],), (each,), ranks).bus[0] for each in last]
            rows.append(ratio(f"{library}_vs_memory", bus, [found[MEMORY] for found in results[MEMORY]]))
    return rows


def follow(comm: Any, order: Mapping[str, Any]) -> Answer:
    """A rank's answer to an order, which all ranks have got. Collective."""
    from workshop.workloads.allreduce.methods import method, obstacle
    from workshop.workloads.allreduce.run import measure, memory_bandwidth

    if order.get("memory"):
        return {MEMORY: memory_bandwidth(comm)}
    if (reason := obstacle(order["method"], comm)) is not None:
        return {"obstacle": reason}
    with method(order["method"], comm) as prepare:
        return {"seconds": [statistics.median(measure(comm, prepare, n, order["repeats"])) for n in order["sizes"]]}


if __name__ == "__main__":
    from mpi4py import MPI

    for what in orders(sys.argv[1], MPI.COMM_WORLD.rank):
        found = follow(MPI.COMM_WORLD, what)
        if MPI.COMM_WORLD.rank == 0:
            answer({"ranks": MPI.COMM_WORLD.size, **found})
