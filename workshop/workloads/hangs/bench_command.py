"""`workshop bench doctor`."""

from __future__ import annotations

from typing import Annotated

import typer

from workshop.cli import bench_output

doctor = bench_output.command(
    "workshop.workloads.hangs.bench:run",
    "Hangs of the catalogue below workshop watch: how many are named right, how soon, and how many false alarms.",
    good=(Annotated[int, typer.Option(min=0, metavar="RUNS", help="Runs of good programs.")], 1000),
)
