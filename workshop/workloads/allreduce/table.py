"""Measured operations as tables in the form of the OSU micro-benchmarks. Doesn't load MPI."""

from __future__ import annotations

from collections.abc import Sequence

COLUMNS = {
    "latency": ["Latency (us)"],
    "bandwidth": ["Bandwidth (MB/s)"],
    "bidirectional": ["Bandwidth (MB/s)"],
}
OF_RANKS = ["Avg Latency(us)", "Min Latency(us)", "Max Latency(us)"]


def osu_table(name: str, sizes: Sequence[int], timings: Sequence[Sequence[float]]) -> str:
    """One operation by size: a latency, a bandwidth, or a collective's mean, lowest and highest over ranks; each of
    `timings` is like `operations.Timing`."""
    columns = COLUMNS.get(name, OF_RANKS)
    lines = [f"# {name}", "".join(["# Size    ", *(f"{column:>20}" for column in columns), f"{'Iterations':>16}"])]
    for size, (*seconds, iterations) in zip(sizes, timings, strict=False):
        streams = "MB/s" in columns[0]
        values = [size / seconds[0] / 1e6] if streams else [value * 1e6 for value in seconds[: len(columns)]]
        lines.append("".join([f"{size:<10}", *(f"{value:20.2f}" for value in values), f"{iterations:16.0f}"]))
    return "\n".join(lines) + "\n"
