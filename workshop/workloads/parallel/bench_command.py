"""`workshop bench parallel`."""

from __future__ import annotations

from typing import Annotated

import typer

from workshop.cli import bench_output, common


def parallel(
    repeats: Annotated[int, typer.Option(min=1, help="Interleaved repeats of which medians are taken.")] = 3,
    no_wait: common.NoWait = False,
    as_json: common.JSON = False,
) -> None:
    """Every cut against one process: weights, bytes, memory, bubble; and two ranks against one in speed."""
    from workshop.workloads.parallel import bench

    document = bench_output.alone(lambda progress, _: bench.run(repeats, progress), no_wait)
    bench_output.show(document, as_json)
