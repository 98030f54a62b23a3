"""All-reduce on every MPI that is here, by message size and method, against what memory allows: all take turns."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from typing import Any

from workshop import bench, mpi, registry
from workshop.bench.crew import Order, crew
from workshop.core import topology
from workshop.core.errors import BadInput, WorkshopError
from workshop.core.placement import Placement
from workshop.core.words import percent, seconds
from workshop.mpi import inventory
from workshop.workloads.allreduce import AllReduceParams
from workshop.workloads.allreduce.verdict import AllReduceCurve, message, rate

MPIS = ("openmpi", "mpich", "intelmpi")
MEMORY = "memory_bandwidth"
WITHIN = 3  # least repeats of a size in a turn
Answer = dict[str, Any]


def read_mpis(text: str) -> tuple[str, ...]:
    """Names of MPIs with commas between. Raises BadInput naming the known ones."""
    known = registry.mpis()
    aliases = {alias: name for name, one in known.items() for alias in one.aliases}
    given = [aliases.get(name, name) for word in text.split(",") if (name := word.strip())]
    unknown = [name for name in given if name not in known]
    if unknown or not given:
        raise BadInput(f"There is no MPI {', '.join(unknown) or text!r}; there are {', '.join(known)}.")
    return tuple(dict.fromkeys(given))


def run(
    mpis: Sequence[str] = MPIS,
    ranks: int = 2,
    repeats: int = 5,
    params: AllReduceParams | None = None,
    progress: bench.Progress = lambda done, total: None,
) -> dict[str, Any]:
    """Measure while no other run that measures does; returns the bench as JSON. Raises WorkshopError.

    A row for each MPI, method and size, in seconds; `params` say which sizes and methods. Ratios compare speeds at the
    largest size: a method's with that of the same MPI's own all-reduce (`ring_vs_own_openmpi`), an MPI's own with Open
    MPI's (`mpich_vs_openmpi`, and `…_latency` at the smallest size), and its bus bandwidth with what a rank copies in
    memory while all do (`openmpi_vs_memory`).
    """
    from workshop.runtime.measurement_lock import measuring_lock

    wanted = params or AllReduceParams.model_validate({})
    with measuring_lock():
        where = bench.machine(("numpy", "mpi4py"))
        found = {name: about for name, about in inventory.mpis().items() if name in mpis}
        where["versions"] |= {name: about["version"] for name, about in found.items() if about["where"]}
        there = [name for name in mpis if found[name]["where"]]
        results = _measure(there, ranks, wanted, repeats, progress)
    rows = [bench.missing(name, "s", found[name]["note"]) for name in mpis if name not in there]
    for name in there:
        for method in wanted.chosen:
            rows += _rows(name, method, wanted.sizes, ranks, results[f"{name}_{method}"])
    memory = results.get(MEMORY, [])
    if memory:
        rows.append(bench.row(MEMORY, [one[MEMORY] for one in memory], "bytes/s of each rank", ranks=ranks))
    placed = {**where, "placement": Placement(ranks=ranks).describe()}
    return bench.document("allreduce", placed, rows, ratios(rows))


def _measure(
    there: Sequence[str], ranks: int, wanted: AllReduceParams, repeats: int, progress: bench.Progress
) -> dict[str, list[Answer]]:
    """The answers of all contenders by `<mpi>_<method>`, and of memory."""
    cores = topology.allowed_cores(topology.machine())
    with ExitStack() as stack:

        def turn(order: Order, what: Mapping[str, Any]) -> Callable[[], Answer]:
            def ask() -> Answer:
                told = order(what)
                if told["ranks"] != ranks:
                    raise WorkshopError(f"{told['ranks']} ranks found each other instead of {ranks}.")
                return told

            return ask

        turns: dict[str, Callable[[], Answer]] = {}
        for name in there:
            placement, module = Placement(mpi=name, ranks=ranks), mpi.of(name)
            command = [module.launcher(), "-n", str(ranks), *module.arguments(placement, cores)]
            variables = placement.rank_environment() | module.environment(placement)
            program = [sys.executable, "-m", "workshop.workloads.allreduce.bench_rank"]
            order = stack.enter_context(crew(name, [*command, *program], ranks, variables))
            for method in wanted.chosen:
                what = {"method": method, "sizes": wanted.sizes, "repeats": WITHIN}
                turns[f"{name}_{method}"] = turn(order, what)
            turns.setdefault(MEMORY, turn(order, {"memory": True}))
        return bench.interleaved(turns, repeats, progress)


def _rows(name: str, method: str, sizes: Sequence[int], ranks: int, answers: Sequence[Answer]) -> list[dict[str, Any]]:
    """A row for each size; one alone where the method can't be had."""
    if reason := next((one["why_not"] for one in answers if "why_not" in one), None):
        return [bench.missing(f"{name}_{method}", "s", f"{reason[:1].upper()}{reason[1:]}.")]
    rows = []
    for number, size in enumerate(sizes):
        row = bench.row(f"{name}_{method}_{size}B", [one["seconds"][number] for one in answers], "s")
        curve = AllReduceCurve(method, (size,), (row["value"],), ranks)
        facts = {"mpi": name, "method": method, "bytes": size, "ranks": ranks}
        rows.append(row | facts | {"algorithm_bandwidth": curve.algorithm[0], "bus_bandwidth": curve.bus[0]})
    return rows


def curves(rows: Sequence[Mapping[str, Any]]) -> list[AllReduceCurve]:
    """A bench's rows as curves, one for each MPI and method."""
    told: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for row in rows:
        if "bytes" in row:
            told.setdefault((row["mpi"], row["method"]), []).append(row)
    return [
        AllReduceCurve(
            method, tuple(row["bytes"] for row in some), tuple(row["value"] for row in some), some[0]["ranks"], name
        )
        for (name, method), some in told.items()
    ]


def overview(document: Mapping[str, Any]) -> list[list[str]]:
    """The bench on a few lines, a heading first: what each MPI and method takes at both ends."""
    rows = document["rows"]
    memory = possible(rows)
    found = curves(rows)
    if not found:
        return []
    ends = [message(size) for size in (found[0].sizes[0], found[0].sizes[-1])]
    lines = [["MPI", "method", *ends, "bus bandwidth", "of memory's", "half of its best from"]]
    for curve in found:
        took = [seconds(curve.seconds[end]) for end in (0, -1)]
        share = percent(curve.bus[-1] / memory) if memory else "-"
        lines.append([curve.mpi, curve.method, *took, rate(curve.bus[-1]), share, message(curve.half)])
    return lines


def possible(rows: Sequence[Mapping[str, Any]]) -> float | None:
    """What memory allows, in bytes per second of each rank; None where it wasn't measured."""
    return next((row["value"] for row in rows if row["name"] == MEMORY), None)


def ratios(rows: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """How speeds compare, see `run`."""
    found, memory = {(curve.mpi, curve.method): curve for curve in curves(rows)}, possible(rows)
    told = {}
    for (name, method), curve in found.items():
        own = found.get((name, "own"))
        if own is not None and method != "own":
            told[f"{method}_vs_own_{name}"] = own.seconds[-1] / curve.seconds[-1]
        if method != "own":
            continue
        if (first := found.get(("openmpi", "own"))) is not None and name != "openmpi":
            told[f"{name}_vs_openmpi"] = first.seconds[-1] / curve.seconds[-1]
            told[f"{name}_vs_openmpi_latency"] = first.seconds[0] / curve.seconds[0]
        if memory and curve.bus[-1]:
            told[f"{name}_vs_memory"] = curve.bus[-1] / memory
    return told
