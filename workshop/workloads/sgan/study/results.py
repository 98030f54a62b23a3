"""Times of evaluation and threads, from what the steps have measured. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from workshop.report.analysis.time_use import as_long_run
from workshop.store.records import RunRecord
from workshop.study.results import CellResult

if TYPE_CHECKING:
    from workshop.study.guided.step_results import StepResults


def evaluation_seconds(found: StepResults) -> list[tuple[CellResult, float]]:
    """What one evaluation takes in each way to ask the classifier."""
    told = []
    for one, run in found.measured("e"):
        seconds, count = as_long_run(run), run.metrics.get("evaluations")
        if seconds and isinstance(count, int) and count > 0 and seconds["evaluate"]:
            told.append((one, seconds["evaluate"] / count))
    return told


def evaluation_shares(found: StepResults) -> dict[tuple[str, int], float]:
    """The share of evaluation in training and evaluation, by before or after and number of ranks."""
    told = {(one.point["evaluation"], one.point["ranks"]): as_long_run(run) for one, run in found.measured("h")}
    return {at: seconds["evaluate"] / sum(seconds.values()) for at, seconds in told.items() if seconds}


@dataclass(frozen=True)
class ThreadCount:
    """All threads of one kind in a run's first rank."""

    kind: str
    count: int
    busy: int  # of which worked
    seconds: float  # of processors


def threads_of(run: RunRecord) -> list[ThreadCount]:
    """The census of a run's first rank, the most numerous kind first; empty where it has told none."""
    told: Any = run.metrics.get("threads")
    if not isinstance(told, list) or not told or not isinstance(told[0], dict):
        return []
    kinds = [
        ThreadCount(kind, int(one.get("count", 0)), int(one.get("busy", 0)), float(one.get("seconds", 0.0)))
        for kind, one in told[0].items()
        if isinstance(one, dict)
    ]
    return sorted((kind for kind in kinds if kind.count), key=lambda kind: (-kind.count, kind.kind))
