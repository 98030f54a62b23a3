"""The workload: what a rank does to measure collectives and messages, each from the smallest to the largest."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from workshop.engine.context import RankContext, library
from workshop.workloads.collectives import PAIRS, CollectiveParams, check_ranks
from workshop.workloads.collectives.algorithms import chosen, obstacle
from workshop.workloads.collectives.operations import measure
from workshop.workloads.collectives.table import osu_table

MEASURED = ("seconds", "seconds_low", "seconds_high", "spread")  # as in a `Timing`
BUDGET = 0.1  # seconds for each size


def run(ctx: RankContext, params: CollectiveParams) -> Mapping[str, Any]:
    """Measure every operation at every size. Collective. Raises BadInput for messages larger than memory, and for
    messages between two ranks on one.

    Events from rank 0, with the number of the size as their step: `message` in bytes, `latency OPERATION` in seconds of
    a message or collective. The artifact osu.txt has OSU's tables.

    Metrics: `sizes` in bytes; by operation `seconds`, `seconds_low` and `seconds_high` (the mean, the lowest and the
    highest over ranks, in the quickest fifth of the iterations) and `spread`, how many times as long the slowest fifth
    took, a list by size, for barrier of one number; `algorithms`, by collective a list by size
    of those algorithms that send the same messages as the MPI's choice; `algorithms_unknown`, why they aren't known.
    """
    check_ranks(params, {}, ctx.size)
    names, unknown = params.operations_on(ctx.size), obstacle(ctx.comm)
    metrics: dict[str, Any] = {name: {} for name in (*MEASURED, "algorithms")}
    tables, stopped = [], False
    if ctx.rank == 0:
        for number, size in enumerate(params.sizes):
            ctx.emit("message", size, number)
    for done, name in enumerate(names):
        ctx.activity(f"measuring {name}")
        sizes, timings = [0] if name == "barrier" else params.sizes, []
        for number, size in enumerate(sizes):
            with ctx.phase("communicate"):
                timings.append(measure(ctx.comm, name, size, params.iterations, BUDGET))
            ctx.end_step(done * len(params.sizes) + number)
            if ctx.rank == 0 and size:
                ctx.emit(f"latency {name}", timings[-1].mean, number)
            ctx.progress(done + (number + 1) / len(sizes), len(names))
            if stopped := ctx.stop_requested():
                break
        for part, values in zip(MEASURED, zip(*timings, strict=True), strict=False):
            metrics[part][name] = list(values)
        tables.append(osu_table(name, sizes, timings))
        if stopped:
            break
        if not unknown and name not in PAIRS:
            metrics["algorithms"][name] = chosen(ctx.comm, name, sizes)
    if ctx.rank == 0:
        heading = f"# {library()}, {ctx.size} ranks\n\n"
        ctx.artifact("osu.txt", (heading + "\n".join(tables)).encode(), "text/plain")
    return {"sizes": params.sizes, **metrics, "algorithms_unknown": unknown, "stopped": stopped}
