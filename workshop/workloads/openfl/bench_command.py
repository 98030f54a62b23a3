"""`workshop bench federated`."""

from __future__ import annotations

from typing import Annotated

import typer

from workshop.cli import bench_output, common


def federated(
    repeats: Annotated[int, typer.Option(min=1, help="Interleaved repeats of which medians are taken.")] = 3,
    institutions: Annotated[
        str, typer.Option(metavar="A,B,…", help="Among how many institutions the same images are dealt.")
    ] = "2,4,8,16,32,64",
    no_wait: common.NoWait = False,
    as_json: common.JSON = False,
) -> None:
    """A round of federated averaging on our ranks against OpenFL's, and what many institutions cost.

    Without OpenFL (workshop federation install) it measures our ranks alone, and says so.
    95 % intervals of medians need 6 repeats or more.
    """
    from workshop.workloads.openfl import bench

    chosen = bench.read_institutions(institutions)
    document = bench_output.alone(
        lambda progress, _: bench.run(repeats, institutions=chosen, progress=progress), no_wait
    )
    bench_output.show(document, as_json)
