"""`workshop bench parallel`."""

from __future__ import annotations

from workshop.cli import bench_output

parallel = bench_output.command(
    "workshop.workloads.parallel.bench:run",
    """Every cut against one process: weights, bytes, memory, bubble; and two ranks against one in speed.""",
    repeats=3,
    least=1,
)
