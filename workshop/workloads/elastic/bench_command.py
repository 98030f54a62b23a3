"""`workshop bench faults`."""

from __future__ import annotations

from typing import Annotated

import typer

from workshop.cli import bench_output, common


def faults(
    kills: Annotated[int, typer.Option(min=1, help="Ranks to kill, each in a run of its own.")] = 100,
    seed: Annotated[int, typer.Option(min=0, help="Seed of which rank is killed, and in which step.")] = 0,
    no_wait: common.NoWait = False,
    as_json: common.JSON = False,
) -> None:
    """Kill ranks of training runs: how many runs go on, how soon, and how accurate they are against undisturbed ones.

    Kills are rounded up to a multiple of five, if there are more than five.
    """
    from workshop.workloads.elastic import bench

    document = bench_output.alone(lambda progress, _: bench.run(kills, seed, progress), no_wait)
    bench_output.show(document, as_json)
