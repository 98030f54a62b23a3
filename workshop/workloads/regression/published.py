"""Published times of daal4py's linear regression, and how they compare with a run's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

SOURCE = "Distributed DL/ML Solutions for HPC systems"
NODES = 32


@dataclass(frozen=True)
class FitRate:
    """A fit of so many bytes of rows in so many seconds."""

    name: str
    size: float  # bytes
    seconds: float

    @property
    def rate(self) -> float:
        """Bytes per second."""
        return self.size / self.seconds


# `SOURCE`, daal4py on 32 nodes with 1,280 cores; the first one is "in less than 48 ms" there.
PUBLISHED = (
    FitRate(f"daal4py on {NODES} nodes", 68.66e9, 0.048),
    FitRate(f"daal4py on {NODES} nodes, more rows", 2.15e12, 1.18),
)


def measured(metrics: Mapping[str, Any]) -> FitRate | None:
    """The fit of a run; None where it has not ended with one."""
    size, seconds = metrics.get("bytes_data"), (metrics.get("seconds") or {}).get("fit")
    return FitRate("this run", size, seconds) if size and seconds else None
