"""`workshop bench regression`."""

from __future__ import annotations

from workshop.cli import bench_output

regression = bench_output.command(
    "workshop.workloads.regression.bench:run",
    """Distributed linear regression against daal4py and scikit-learn: float64, 1M x 10 and 200,000 x 100.""",
    repeats=9,
    least=3,
)
