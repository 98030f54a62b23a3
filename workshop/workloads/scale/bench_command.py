"""`workshop bench scale`."""

from __future__ import annotations

from typing import Annotated

import typer

from workshop.cli import bench_output, common


def scale(
    changes: Annotated[int, typer.Option(min=1, max=60, help="What-ifs that are predicted and run.")] = 60,
    no_wait: common.NoWait = False,
    as_json: common.JSON = False,
) -> None:
    """Predictions of published curves and of what-ifs, against what was measured."""
    from workshop.workloads.scale import bench

    document = bench_output.alone(lambda progress, _: bench.run(changes, progress), no_wait)
    bench_output.show(document, as_json)
