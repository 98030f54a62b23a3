"""`workshop bench scale`."""

from __future__ import annotations

from typing import Annotated

import typer

from workshop.cli import bench_output

scale = bench_output.command(
    "workshop.workloads.scale.bench:run",
    "Predictions of published curves and of what-ifs, against what was measured.",
    changes=(Annotated[int, typer.Option(min=1, max=60, help="What-ifs that are predicted and run.")], 60),
)
