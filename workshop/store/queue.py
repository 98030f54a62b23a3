"""The next run, and the time until then: pure functions of the runs that wait."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from statistics import median

from workshop.store.records import RunRecord


def owner(run: RunRecord) -> Hashable:
    """The person whose turn a run takes: somebody from the dashboard, else a nickname ("": the command line)."""
    return run.identity_id if run.identity_id is not None else run.submitted_by


def turns(queued: Iterable[tuple[int, Hashable]], last_taken: Mapping[Hashable, float]) -> list[int]:
    """The order of queued runs: owners take turns with one run each, and each owner's runs stay in order.

    `queued` holds (run id, owner); a lower id was queued earlier. `last_taken` has the time of each owner's latest run.
    An owner without one is first, then the one who has waited longest. The order stays the same when runs are taken
    from its front.
    """
    waiting: dict[Hashable, list[int]] = defaultdict(list)
    for run_id, who in sorted(queued, key=lambda pair: pair[0]):
        waiting[who].append(run_id)
    order = sorted(waiting, key=lambda who: (last_taken.get(who, float("-inf")), waiting[who][0]))
    rounds = max(map(len, waiting.values()), default=0)
    return [waiting[who][turn] for turn in range(rounds) for who in order if turn < len(waiting[who])]


def expected_wait(
    queue: Sequence[RunRecord], running: RunRecord | None, history: Iterable[RunRecord], now: float | None = None
) -> dict[int, float | None]:
    """Expected seconds until each queued run begins, by run id; None where an earlier run's length is unknown, or
    the one that runs takes longer than usual.

    A run takes the median of its workload's ended runs in `history`, or of all runs where its workload has none.
    `queue` is in the order of `turns`; `now` is in seconds since the epoch.
    """
    now = time.time() if now is None else now
    past: dict[str, list[float]] = defaultdict(list)
    for run in history:
        if run.started_at is not None and run.finished_at is not None:
            past[run.workload].append(run.finished_at - run.started_at)
    usual = {workload: median(seconds) for workload, seconds in past.items()}
    fallback = median(seconds for all_of_one in past.values() for seconds in all_of_one) if past else None

    wait: float | None = 0.0
    if running is not None:
        lasts = usual.get(running.workload, fallback)
        since = now - (running.started_at if running.started_at is not None else now)
        wait = None if lasts is None or since > lasts else lasts - since
    waits: dict[int, float | None] = {}
    for run in queue:
        waits[run.id] = wait
        lasts = usual.get(run.workload, fallback)
        wait = None if wait is None or lasts is None else wait + lasts
    return waits
