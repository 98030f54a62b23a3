"""Messages and collectives on every MPI that is here, by size: MPIs and operations take turns."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from typing import Any

from workshop import bench
from workshop.core.placement import Placement
from workshop.core.words import seconds
from workshop.mpi import inventory
from workshop.workloads.allreduce.bench import curves, start
from workshop.workloads.allreduce.verdict import message, rate
from workshop.workloads.collectives import COUNTED, PAIRS, CollectiveParams
from workshop.workloads.collectives.operations import Timing
from workshop.workloads.collectives.table import osu_table
from workshop.workloads.collectives.verdict import by_size

PROGRAM = "workshop.workloads.collectives.bench_rank"


def run(
    mpis: Sequence[str],
    ranks: int,
    repeats: int,
    params: CollectiveParams,
    progress: bench.Progress = lambda done, total: None,
) -> dict[str, Any]:
    """Measure, while the caller holds the machine for measuring; returns the bench as JSON. Raises WorkshopError.

    A row for each MPI, operation and size, in seconds of a message or collective, with `low_rank` and `high_rank`, the
    lowest and highest mean over ranks, and `algorithms` where they are known. Ratios compare speeds with Open MPI's:
    `mpich_vs_openmpi_bcast` at the largest size, `…_bcast_latency` at the smallest one.
    """
    where = bench.machine(("numpy", "mpi4py"))
    mpis_found = inventory.mpis()
    installed = [name for name in mpis if mpis_found[name]["where"]]
    where["versions"] |= {name: mpis_found[name]["version"] for name in installed}
    rows = [bench.missing(name, "s", mpis_found[name]["note"]) for name in mpis if name not in installed]
    names = [name for name in params.operations if ranks > 1 or name not in PAIRS]
    sizes_of = {name: [0] if name == "barrier" else params.sizes for name in names}
    with ExitStack() as stack:
        turns = {}
        for mpi in installed:
            order = start(stack, mpi, ranks, PROGRAM)
            for name, sizes in sizes_of.items():
                what = {"operation": name, "sizes": sizes, "iterations": params.iterations}
                turns[mpi, name] = partial(order, what)
        by_text = {f"{mpi}_{name}": turn for (mpi, name), turn in turns.items()}
        results = bench.interleaved(by_text, repeats, progress)
    for mpi in installed:
        # Ranks that count messages are slower: they are others than the measured ones.
        with ExitStack() as stack:
            collectives = [name for name in names if name not in PAIRS]
            answer = start(stack, mpi, ranks, PROGRAM, COUNTED)({"algorithms": collectives, "sizes": params.sizes})
        for name, sizes in sizes_of.items():
            rows += _rows(mpi, name, sizes, results[f"{mpi}_{name}"], answer["algorithms"].get(name))
        if answer["unknown"]:
            rows.append(bench.missing(f"{mpi}_algorithms", "names", f"{answer['unknown']}."))
    return bench.document("collectives", {**where, "placement": Placement(ranks=ranks).describe()}, rows, ratios(rows))


def _rows(
    mpi: str, name: str, sizes: Sequence[int], answers: Sequence[Mapping[str, Any]], chosen: Sequence[Any] | None
) -> list[dict[str, Any]]:
    rows = []
    for number, size in enumerate(sizes):
        timings = [Timing(*answer["timings"][number]) for answer in answers]
        facts = {"mpi": mpi, "method": name, "bytes": size, "ranks": answers[0]["ranks"]}
        facts |= {"low_rank": statistics.median(timing.low for timing in timings)}
        facts |= {"high_rank": statistics.median(timing.high for timing in timings)}
        facts |= {"iterations": min(timing.iterations for timing in timings)}
        facts |= {"algorithms": chosen[number]} if chosen else {}
        rows.append(bench.row(f"{mpi}_{name}_{size}B", [timing.mean for timing in timings], "s", **facts))
    return rows


def overview(document: Mapping[str, Any]) -> list[list[str]]:
    """The bench on a few lines, a heading first: each MPI and operation at both ends, and the chosen algorithms."""
    lines = [["MPI", "operation", "smallest", "largest", "bandwidth", "half of its best from", "algorithm"]]
    for curve in curves(document["rows"]):
        rows = _of(document["rows"], curve.mpi, curve.method)
        chosen = [row["algorithms"] for row in rows if "algorithms" in row]
        ends = [seconds(curve.seconds[end]) for end in (0, -1)]
        rest = [rate(curve.algorithm[-1]), message(curve.half)] if curve.sizes[-1] else ["", ""]
        lines.append([curve.mpi, curve.method, *ends, *rest, by_size(curve.sizes, chosen) if chosen else "unknown"])
    return lines


def osu_tables(document: Mapping[str, Any]) -> str:
    """All measurements as OSU's benchmarks print them, medians over the rounds."""
    tables = []
    for curve in curves(document["rows"]):
        timings = [
            Timing(row["value"], row["low_rank"], row["high_rank"], row["iterations"])
            for row in _of(document["rows"], curve.mpi, curve.method)
        ]
        tables.append(f"# {curve.mpi}, {curve.ranks} ranks\n{osu_table(curve.method, curve.sizes, timings)}")
    return "\n".join(tables)


def _of(rows: Sequence[Mapping[str, Any]], mpi: str, name: str) -> list[Mapping[str, Any]]:
    return [row for row in rows if row.get("mpi") == mpi and row.get("method") == name]


def ratios(rows: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """How speeds compare, see `run`."""
    curve_of = {(curve.mpi, curve.method): curve for curve in curves(rows)}
    speeds = {}
    for (mpi, name), curve in curve_of.items():
        if mpi != "openmpi" and (usual := curve_of.get(("openmpi", name))):
            speeds[f"{mpi}_vs_openmpi_{name}"] = usual.seconds[-1] / curve.seconds[-1]
            speeds[f"{mpi}_vs_openmpi_{name}_latency"] = usual.seconds[0] / curve.seconds[0]
    return speeds
