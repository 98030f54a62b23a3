"""`workshop bench kmeans`."""

from __future__ import annotations

from typing import Annotated

import typer

from workshop.cli import bench_output, common


def kmeans(
    repeats: Annotated[int, typer.Option(min=3, help="Interleaved repeats of which medians are taken.")] = 9,
    no_wait: common.NoWait = False,
    as_json: common.JSON = False,
) -> None:
    """Distributed k-means against daal4py, scikit-learn, scikit-learn-intelex, faiss and fastkmeans: 1M x 10 float32,
    k = 10 and 100, 20 iterations."""
    from workshop.workloads.kmeans import bench

    document = bench_output.alone(lambda progress, _: bench.run(repeats=repeats, progress=progress), no_wait)
    bench_output.show(document, as_json)


def install_peers() -> None:
    """Install what the benches of k-means and regression compare with, each in its own prefix: MPICH, daal4py with
    scikit-learn-intelex, faiss and fastkmeans."""
    from workshop.bench import peers

    err = common.stderr()
    err.print("Installing MPICH, daal4py, faiss and fastkmeans ...")
    peers.install()
    err.print("Done; `workshop bench kmeans` and `workshop bench regression` compare with them.")
