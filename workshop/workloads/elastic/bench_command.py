"""`workshop bench faults`."""

from __future__ import annotations

from typing import Annotated

import typer

from workshop.cli import bench_output

faults = bench_output.command(
    "workshop.workloads.elastic.bench:run",
    """Kill ranks of training runs: how many runs go on, how soon, and how accurate they are against undisturbed ones.

    Kills are rounded up to a multiple of five, if there are more than five.
    """,
    kills=(Annotated[int, typer.Option(min=1, help="Ranks to kill, each in a run of its own.")], 100),
    seed=(Annotated[int, typer.Option(min=0, help="Seed of which rank is killed, and in which step.")], 0),
)
