"""`workshop bench mnist`."""

from __future__ import annotations

from workshop.cli import bench_output

mnist = bench_output.command(
    "workshop.workloads.mnist.bench:run",
    """Training through a session against the plain script, one bound process, and one process with all cores.

    95 % intervals of medians need 6 repeats or more.
    """,
    repeats=9,
    least=3,
)
