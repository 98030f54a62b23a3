"""`workshop bench tune`."""

from __future__ import annotations

from typing import Annotated

import typer

from workshop.cli import bench_output, common


def tune(
    repeats: Annotated[int, typer.Option(min=1, help="Interleaved rounds of which medians are taken.")] = 6,
    quick: Annotated[
        bool, typer.Option("--quick", help="k-means on a few cells, one seed: to see that it works.")
    ] = False,
    as_json: common.JSON = False,
) -> None:
    """The tuner against trying every cell of a grid: what its pick is worth, and what finding it cost.

    Trains the S-GAN on 32 cells and tunes it with three seeds; about 20 minutes on two cores, and it says beforehand.
    95 % intervals of medians need 6 rounds or more.
    """
    from workshop.study.tune import bench

    wanted = bench.QUICK if quick else {"repeats": repeats}
    bench_output.show(
        bench_output.with_bar_and_words(lambda progress, say: bench.run(**wanted, progress=progress, say=say)), as_json
    )
