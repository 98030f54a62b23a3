"""`workshop bench kmeans`."""

from __future__ import annotations

from workshop.cli import bench_output, common

kmeans = bench_output.command(
    "workshop.workloads.kmeans.bench:run",
    """Distributed k-means against daal4py, scikit-learn, scikit-learn-intelex, faiss and fastkmeans: 1M x 10 float32,
    k = 10 and 100, 20 iterations.""",
    repeats=9,
    least=3,
)


def install_peers() -> None:
    """Install what the benches of k-means and regression compare with, each in its own prefix: MPICH, daal4py with
    scikit-learn-intelex, faiss and fastkmeans."""
    from workshop.bench import peers

    err = common.stderr()
    err.print("Installing MPICH, daal4py, faiss and fastkmeans ...")
    peers.install()
    err.print("Done; `workshop bench kmeans` and `workshop bench regression` compare with them.")
