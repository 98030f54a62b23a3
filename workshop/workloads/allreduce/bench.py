"""All-reduce on every MPI that is here, by message size and method, against what memory allows: all take turns."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
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
    known_mpis = registry.mpis()
    aliases = {alias: name for name, mpi_class in known_mpis.items() for alias in mpi_class.aliases}
    names = [aliases.get(name, name) for word in text.split(",") if (name := word.strip())]
    unknown = [name for name in names if name not in known_mpis]
    if unknown or not names:
        raise BadInput(f"There is no MPI {', '.join(unknown) or text!r}; there are {', '.join(known_mpis)}.")
    return tuple(dict.fromkeys(names))


def run(
    mpis: Sequence[str] = MPIS,
    ranks: int = 2,
    repeats: int = 5,
    params: AllReduceParams | None = None,
    progress: bench.Progress = lambda done, total: None,
) -> dict[str, Any]:
    """Measure, while the caller holds the machine for measuring; returns the bench as JSON. Raises WorkshopError.

    A row for each MPI, method and size, in seconds; `params` say which sizes and methods. Ratios compare speeds at the
    largest size: a method's with that of the same MPI's own all-reduce (`ring_vs_own_openmpi`), an MPI's own with Open
    MPI's (`mpich_vs_openmpi`, and `…_latency` at the smallest size), and its bus bandwidth with what a rank copies in
    memory while all do (`openmpi_vs_memory`).
    """
    settings = params or AllReduceParams.model_validate({})
    where = bench.machine(("numpy", "mpi4py"))
    mpis_found = {name: about for name, about in inventory.mpis().items() if name in mpis}
    where["versions"] |= {name: about["version"] for name, about in mpis_found.items() if about["where"]}
    installed = [name for name in mpis if mpis_found[name]["where"]]
    results = _measure(installed, ranks, settings, repeats, progress)
    rows = [bench.missing(name, "s", mpis_found[name]["note"]) for name in mpis if name not in installed]
    for name in installed:
        for method in settings.chosen:
            rows += _rows(name, method, settings.sizes, ranks, results[f"{name}_{method}"])
    memory = results.get(MEMORY, [])
    if memory:
        rows.append(bench.row(MEMORY, [answer[MEMORY] for answer in memory], "bytes/s of each rank", ranks=ranks))
    placed = {**where, "placement": Placement(ranks=ranks).describe()}
    return bench.document("allreduce", placed, rows, ratios(rows))


def _measure(
    installed: Sequence[str], ranks: int, settings: AllReduceParams, repeats: int, progress: bench.Progress
) -> dict[str, list[Answer]]:
    """The answers of all contenders by `<mpi>_<method>`, and of memory."""
    with ExitStack() as stack:
        turns: dict[str, Callable[[], Answer]] = {}
        for name in installed:
            order = start(stack, name, ranks, "workshop.workloads.allreduce.bench_rank")
            for method in settings.chosen:
                what = {"method": method, "sizes": settings.sizes, "repeats": WITHIN}
                turns[f"{name}_{method}"] = partial(order, what)
            turns.setdefault(MEMORY, partial(order, {"memory": True}))
        return bench.interleaved(turns, repeats, progress)


def start(stack: ExitStack, name: str, ranks: int, program: str, variables: Mapping[str, str] | None = None) -> Order:
    """Start ranks of the MPI `name` that run the module `program`; they end with the stack. `variables` are for these
    ranks alone. An order raises WorkshopError when the ranks fail, or are not as many as asked for."""
    placement, module = Placement(mpi=name, ranks=ranks), mpi.module_of(name)
    cores = topology.allowed_cores(topology.machine())
    command = [module.launcher(), "-n", str(ranks), *module.arguments(placement, cores), sys.executable, "-m", program]
    environment = placement.rank_environment() | module.environment(placement) | dict(variables or {})
    order = stack.enter_context(crew(name, command, ranks, environment))

    def ask(what: Mapping[str, Any]) -> Answer:
        answer = order(what)
        if answer["ranks"] != ranks:
            raise WorkshopError(f"{answer['ranks']} ranks found each other instead of {ranks}.")
        return answer

    return ask


def _rows(name: str, method: str, sizes: Sequence[int], ranks: int, answers: Sequence[Answer]) -> list[dict[str, Any]]:
    """A row for each size; one alone where the method can't be had."""
    if reason := next((answer["obstacle"] for answer in answers if "obstacle" in answer), None):
        return [bench.missing(f"{name}_{method}", "s", f"{reason[:1].upper()}{reason[1:]}.")]
    rows = []
    for number, size in enumerate(sizes):
        row = bench.row(f"{name}_{method}_{size}B", [answer["seconds"][number] for answer in answers], "s")
        curve = AllReduceCurve(method, (size,), (row["value"],), ranks)
        facts = {"mpi": name, "method": method, "bytes": size, "ranks": ranks}
        rows.append(row | facts | {"algorithm_bandwidth": curve.algorithm[0], "bus_bandwidth": curve.bus[0]})
    return rows


def curves(rows: Sequence[Mapping[str, Any]]) -> list[AllReduceCurve]:
    """A bench's rows as curves, one for each MPI and method."""
    rows_by_curve: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for row in rows:
        if "bytes" in row:
            rows_by_curve.setdefault((row["mpi"], row["method"]), []).append(row)
    return [
        AllReduceCurve(
            method, tuple(row["bytes"] for row in some), tuple(row["value"] for row in some), some[0]["ranks"], name
        )
        for (name, method), some in rows_by_curve.items()
    ]


def overview(document: Mapping[str, Any]) -> list[list[str]]:
    """The bench on a few lines, a heading first: what each MPI and method takes at both ends."""
    rows = document["rows"]
    memory = copied(rows)
    curves_of_bench = curves(rows)
    if not curves_of_bench:
        return []
    ends = [message(size) for size in (curves_of_bench[0].sizes[0], curves_of_bench[0].sizes[-1])]
    lines = [["MPI", "method", *ends, "bus bandwidth", "of memory's", "half of its best from"]]
    for curve in curves_of_bench:
        took = [seconds(curve.seconds[end]) for end in (0, -1)]
        share = percent(curve.bus[-1] / memory) if memory else "-"
        lines.append([curve.mpi, curve.method, *took, rate(curve.bus[-1]), share, message(curve.half_bandwidth_size)])
    return lines


def copied(rows: Sequence[Mapping[str, Any]]) -> float | None:
    """Bytes per second that each rank copies in memory; None where it wasn't measured."""
    return next((row["value"] for row in rows if row["name"] == MEMORY), None)


def ratios(rows: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """How speeds compare, see `run`."""
    curve_of, memory = {(curve.mpi, curve.method): curve for curve in curves(rows)}, copied(rows)
    ratios_found = {}
    for (name, method), curve in curve_of.items():
        own_curve = curve_of.get((name, "own"))
        if own_curve is not None and method != "own":
            ratios_found[f"{method}_vs_own_{name}"] = own_curve.seconds[-1] / curve.seconds[-1]
        if method != "own":
            continue
        if (first := curve_of.get(("openmpi", "own"))) is not None and name != "openmpi":
            ratios_found[f"{name}_vs_openmpi"] = first.seconds[-1] / curve.seconds[-1]
            ratios_found[f"{name}_vs_openmpi_latency"] = first.seconds[0] / curve.seconds[0]
        if memory and curve.bus[-1]:
            ratios_found[f"{name}_vs_memory"] = curve.bus[-1] / memory
    return ratios_found
