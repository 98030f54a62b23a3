"""How long a run of a study is likely to take, before it has any."""

from __future__ import annotations

from collections.abc import Mapping
from statistics import median
from typing import Any

from workshop.core import words
from workshop.store.records import RunRecord
from workshop.store.store import Store

SECONDS = 30.0  # where nothing is known
LOOKED = 200  # earlier runs that are looked at
ALIKE = 9  # of which so many, the newest, count


def seconds_each(store: Store, workload: str, params: Mapping[str, Any]) -> tuple[float, str]:
    """Seconds, the start of ranks included, and from what that is known: from earlier runs of the workload, those with
    these params where there are some."""
    earlier = [run for run in store.runs(workload=workload, status="completed", limit=LOOKED) if _took(run) is not None]
    alike = [run for run in earlier if all(run.params.get(name) == value for name, value in params.items())]
    counted = (alike or earlier)[:ALIKE]
    if not counted:
        return SECONDS, f"at {SECONDS:.0f} s a run, which is a guess: {workload} has not run here yet"
    found = median(took for run in counted if (took := _took(run)) is not None)
    which = "" if alike else " other"
    number = f"its last{which} run" if len(counted) == 1 else f"its last {len(counted)}{which} runs"
    return found, f"at {words.seconds(found)} a run, as {number} took"


def _took(run: RunRecord) -> float | None:
    return run.finished_at - run.started_at if run.finished_at and run.started_at else None
