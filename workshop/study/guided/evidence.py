"""What single runs tell beside their rate: threads, time, memory. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from workshop.report.analysis.spent import as_long_run
from workshop.store.records import RunRecord
from workshop.study.guided.found import Found


@dataclass(frozen=True)
class Threads:
    """All threads of one kind in a run's ranks."""

    kind: str
    count: int
    busy: int  # of which worked
    seconds: float  # of processors


def threads_of(run: RunRecord) -> list[Threads]:
    """The census of a run's first rank, the most numerous kind first; empty where it has told none."""
    told: Any = run.metrics.get("threads")
    if not isinstance(told, list) or not told or not isinstance(told[0], dict):
        return []
    kinds = [
        Threads(kind, int(one.get("count", 0)), int(one.get("busy", 0)), float(one.get("seconds", 0.0)))
        for kind, one in told[0].items()
        if isinstance(one, dict)
    ]
    return sorted((kind for kind in kinds if kind.count), key=lambda kind: (-kind.count, kind.kind))


def evaluating(run: RunRecord) -> float | None:
    """Seconds of one evaluation."""
    seconds, count = as_long_run(run), run.metrics.get("evaluations")
    return seconds["evaluate"] / count if seconds and isinstance(count, int) and count > 0 else None


def share_of_evaluation(found: Found) -> dict[tuple[str, int], float]:
    """The share of evaluation in training and evaluation, by before or after and number of ranks."""
    shares = {}
    for one in found.results("h"):
        if seconds := as_long_run(found.run(one)):
            shares[one.point["evaluation"], one.point["ranks"]] = seconds["evaluate"] / sum(seconds.values())
    return shares
