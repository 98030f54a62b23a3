"""`workshop bench doctor`."""

from __future__ import annotations

from typing import Annotated

import typer

from workshop.cli import bench_output, common


def doctor(
    good: Annotated[int, typer.Option(min=0, metavar="RUNS", help="Runs of good programs.")] = 1000,
    no_wait: common.NoWait = False,
    as_json: common.JSON = False,
) -> None:
    """Hangs of the catalogue below workshop watch: how many are named right, how soon, and how many false alarms."""
    from workshop.workloads.hangs import bench

    document = bench_output.alone(lambda progress, _: bench.run(good, progress), no_wait)
    bench_output.show(document, as_json)
