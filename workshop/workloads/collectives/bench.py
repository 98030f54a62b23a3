"""Messages and collectives on every MPI that is here, by size: MPIs and operations take turns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from statistics import median
from typing import Any

from workshop import bench
from workshop.core.placement import Placement
from workshop.mpi import inventory
from workshop.workloads.allreduce.bench import curves, start
from workshop.workloads.collectives import COUNTED, PAIRS, CollectiveParams
from workshop.workloads.collectives.table import osu_table
from workshop.workloads.collectives.verdict import HEADINGS, summary

PROGRAM = "workshop.workloads.collectives.bench_rank"


def run(
    mpis: Sequence[str],
    ranks: int,
    repeats: int,
    params: CollectiveParams,
    progress: bench.Progress = lambda done, total: None,
) -> dict[str, Any]:
    """Measure, while the caller holds the machine for measuring; returns the bench as JSON. Raises WorkshopError.

    A row for each MPI, operation and size, in seconds of a message or collective. `timing` has the medians over rounds
    of a `Timing`, and `algorithms` the names that may be the MPI's choice, where they are known. Ratios compare speeds
    with Open MPI's: `mpich_vs_openmpi_bcast` at the largest size.
    """
    where, about = bench.machine(("numpy", "mpi4py")), inventory.mpis()
    installed = [name for name in mpis if about[name]["where"]]
    where["versions"] |= {name: about[name]["version"] for name in installed}
    where["placement"] = Placement(ranks=ranks).describe()
    rows = [bench.missing(name, "s", about[name]["note"]) for name in mpis if name not in installed]
    sizes = {name: [0] if name == "barrier" else params.sizes for name in params.operations_on(ranks)}
    turns = {}
    with ExitStack() as stack:
        for mpi in installed:
            order = start(stack, mpi, ranks, PROGRAM)
            for name in sizes:
                what = {"operation": name, "sizes": sizes[name], "iterations": params.iterations}
                turns[f"{mpi} {name}"] = partial(order, what)
        results = bench.interleaved(turns, repeats, progress)
    collectives = [name for name in sizes if name not in PAIRS]
    for mpi in installed:
        with (
            ExitStack() as stack
        ):  # counting messages takes time, so that these ranks are others than the measured ones
            order = start(stack, mpi, ranks, PROGRAM, COUNTED)
            answer = order({"algorithms": collectives, "sizes": params.sizes}) if collectives else {}
        if unknown := answer.get("unknown"):
            rows.append(bench.missing(f"{mpi}_algorithms", "names", f"{unknown}."))
        for name in sizes:
            timings = zip(*(result["timings"] for result in results[f"{mpi} {name}"]), strict=True)
            for number, (size, values) in enumerate(zip(sizes[name], timings, strict=True)):
                row = bench.row(f"{mpi}_{name}_{size}B", [value[0] for value in values], "s", mpi=mpi, method=name)
                chosen = answer.get("algorithms", {}).get(name)
                rows.append(row | {"bytes": size, "ranks": ranks, "timing": [*map(median, zip(*values, strict=True))]})
                rows[-1] |= {"algorithms": chosen[number]} if chosen else {}
    return bench.document("collectives", where, rows, ratios(rows))


def ratios(rows: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """How speeds compare, see `run`."""
    seconds = {(curve.mpi, curve.method): curve.seconds[-1] for curve in curves(rows)}
    usual = {name: took for (mpi, name), took in seconds.items() if mpi == "openmpi"}
    return {
        f"{mpi}_vs_openmpi_{name}": usual[name] / took
        for (mpi, name), took in seconds.items()
        if mpi != "openmpi" and name in usual
    }


def overview(document: Mapping[str, Any]) -> tuple[list[list[str]], str]:
    """The bench on a few lines, a heading first, and all its sizes as OSU's benchmarks print them."""
    lines, tables = [["MPI", *HEADINGS]], []
    for curve in curves(document["rows"]):
        rows = [row for row in document["rows"] if (row.get("mpi"), row.get("method")) == (curve.mpi, curve.method)]
        lines.append([curve.mpi, *summary(curve, [row["algorithms"] for row in rows if "algorithms" in row])])
        table = osu_table(curve.method, curve.sizes, [row["timing"] for row in rows])
        tables.append(f"# {curve.mpi}, {curve.ranks} ranks\n{table}")
    return lines, "\n".join(tables)
