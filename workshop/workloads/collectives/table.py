"""Tables in the form in which the OSU micro-benchmarks print them, in microseconds and in MB/s (10^6 bytes)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from workshop.workloads.collectives.operations import Timing

STREAMS = {"bandwidth": "Bandwidth (MB/s)", "bidirectional": "Bidirectional Bandwidth (MB/s)"}


def osu_table(name: str, sizes: Sequence[int], timings: Sequence[Timing]) -> str:
    """One operation by size: a latency, a bandwidth, or a collective's mean, lowest and highest over ranks."""
    if name in STREAMS:
        heading = [STREAMS[name]]
        rows = [[size / timing.mean / 1e6] for size, timing in zip(sizes, timings, strict=False)]
    elif name == "latency":
        heading = ["Latency (us)"]
        rows = [[timing.mean * 1e6] for timing in timings]
    else:
        heading = ["Avg Latency(us)", "Min Latency(us)", "Max Latency(us)"]
        rows = [[1e6 * timing.mean, 1e6 * timing.low, 1e6 * timing.high] for timing in timings]
    widths = [max(20, len(word) + 2) for word in heading]
    lines = [f"# {name}", "# Size".ljust(12) + "".join(map(str.rjust, heading, widths)) + "  Iterations".rjust(14)]
    for size, row, timing in zip(sizes, rows, timings, strict=False):
        values = "".join(f"{value:.2f}".rjust(width) for value, width in zip(row, widths, strict=True))
        lines.append(f"{size:<12}{values}{timing.iterations:>14}")
    return "\n".join(lines) + "\n"
