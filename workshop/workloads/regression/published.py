"""Published times of daal4py's linear regression, and how they compare with a run's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from workshop.core import words

SOURCE = "Distributed DL/ML Solutions for HPC systems"
NODES = 32


@dataclass(frozen=True)
class FitRate:
    """A fit of so many bytes of rows in so many seconds; `title` says both in words."""

    title: str
    size: float  # bytes
    seconds: float

    @property
    def rate(self) -> float:
        """Bytes per second."""
        return self.size / self.seconds


# daal4py on 32 nodes with 1,280 cores, in `SOURCE`.
PUBLISHED = (
    FitRate("68.66 GB in less than 48 ms", 68.66e9, 0.048),
    FitRate("2.15 TB in 1.18 s", 2.15e12, 1.18),
)


def measured(metrics: Mapping[str, Any]) -> FitRate | None:
    """The fit of a run; None where it has not ended with one."""
    size, seconds = metrics.get("bytes_data"), (metrics.get("seconds") or {}).get("fit")
    return FitRate(f"{words.size(size)} in {words.seconds(seconds)}", size, seconds) if size and seconds else None
