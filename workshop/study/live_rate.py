"""How fast a trial's run is while it goes on, from what it tells."""

from __future__ import annotations

from statistics import median

from workshop.registry import workload
from workshop.store.records import RunRecord
from workshop.store.store import Store
from workshop.study.kinds import Watched


class Watch:
    """Follows the live event of a run's workload (`Scaling.live`), reading only what is new."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self._run = 0
        self._last = 0  # id of the newest event that was read
        self._rates: list[float] = []
        self._times: list[float] = []

    def look(self, run: RunRecord) -> Watched:
        """The run as it is now. Seconds are counted from the first rate that it told."""
        if run.id != self._run:
            self._run, self._last, self._rates, self._times = run.id, 0, [], []
        scaling = workload(run.workload).scaling
        if scaling is not None and scaling.live:
            for event in self.store.events(run.id, [scaling.live], rank=0, after=self._last):
                self._last = event.id
                self._rates.append(event.value)
                self._times.append(event.time)
        if not self._rates:
            return Watched(run, 0.0, None)
        return Watched(run, max(self._times) - min(self._times), median(self._rates))
