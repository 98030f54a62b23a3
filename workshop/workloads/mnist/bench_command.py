"""`workshop bench mnist`."""

from __future__ import annotations

from typing import Annotated

import typer

from workshop.cli import bench_output, common


def mnist(
    repeats: Annotated[int, typer.Option(min=3, help="Interleaved repeats of which medians are taken.")] = 9,
    no_wait: common.NoWait = False,
    as_json: common.JSON = False,
) -> None:
    """Training through a session against the plain script, one bound process, and one process with all cores.

    95 % intervals of medians need 6 repeats or more.
    """
    from workshop.workloads.mnist import bench

    document = bench_output.alone(lambda progress, _: bench.run(repeats=repeats, progress=progress), no_wait)
    bench_output.show(document, as_json)
