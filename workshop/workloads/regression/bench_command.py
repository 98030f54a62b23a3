"""`workshop bench regression`."""

from __future__ import annotations

from typing import Annotated

import typer

from workshop.cli import bench_output, common


def regression(
    repeats: Annotated[int, typer.Option(min=3, help="Interleaved repeats of which medians are taken.")] = 9,
    no_wait: common.NoWait = False,
    as_json: common.JSON = False,
) -> None:
    """Distributed linear regression against daal4py and scikit-learn: float64, 1M x 10 and 200,000 x 100."""
    from workshop.workloads.regression import bench

    document = bench_output.alone(lambda progress, _: bench.run(repeats=repeats, progress=progress), no_wait)
    bench_output.show(document, as_json)
