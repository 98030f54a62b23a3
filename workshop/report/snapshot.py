"""A run at one moment: its record, its files, and its ranks' events."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal
from urllib.parse import quote

from workshop.extension import Workload, load
from workshop.registry import workloads
from workshop.report.analysis.balance import Totals
from workshop.report.cards import Card
from workshop.store.records import Artifact, RunRecord, Series
from workshop.store.store import Store

Section = Literal["result", "learning", "time", "placement", "files"]  # of a run's page, in their order
POINTS = 160  # of a curve: what a card can show, and what forty viewers can be sent several times a second


class Snapshot:
    """A run for panels to look at, as it was at the time `until`, still running then, or as it is. A value that costs a
    query is read once, when a panel asks for it."""

    def __init__(self, store: Store, run: RunRecord, until: float = math.inf) -> None:
        self.store = store
        self.until = until
        if until < math.inf:
            run = replace(run, status="running", metrics={}, verdict=None, error=None, finished_at=None, activity=None)
        self.run = run
        artifacts = (artifact for artifact in store.artifacts(run.id) if artifact.created_at <= until)
        self.artifacts: Mapping[str, Artifact] = {artifact.name: artifact for artifact in artifacts}
        self.events = store.last_event_id(run.id, until)  # which is also how many there are
        self._series: dict[str, list[Series]] = {}

    @property
    def workload(self) -> Workload | None:
        """None where this installation doesn't know it any more."""
        return workloads().get(self.run.workload)

    @property
    def own_panels(self) -> Sequence[Panel]:
        """The panels that the workload adds to the run's page."""
        return load(self.workload.panels) if self.workload is not None and self.workload.panels else ()

    @property
    def ranks(self) -> int:
        return len((self.run.rank_map or {}).get("ranks") or []) or self.run.placement.get("ranks") or 1

    @cached_property
    def totals(self) -> Totals:
        return self.store.totals(self.run.id, self.until)

    @cached_property
    def began(self) -> float | None:
        """The time of the first event; None where there is none yet."""
        return next((event.time for event in self.store.events(self.run.id, limit=1)), None)

    @property
    def newest(self) -> float | None:
        """The time of the newest event that a panel has drawn."""
        every_series = (series for group in self._series.values() for series in group)
        return max((series.times[-1] for series in every_series if series.times), default=None)

    def series(self, name: str) -> list[Series]:
        """The events of one name, a series for each rank that told it."""
        if name not in self._series:
            self._series[name] = self.store.series(self.run.id, name, POINTS, self.until)
        return self._series[name]

    def version(self, name: str) -> str | None:
        """A mark that changes whenever the file's content changes; None for a missing file."""
        return self.artifacts[name].sha256 if name in self.artifacts else None

    def read(self, name: str) -> bytes:
        """A file. Raises BadInput where it isn't there."""
        return self.store.artifact(self.run.id, name).data or b""

    def url(self, name: str, download: bool = False) -> str:
        """Where a file can be had; the address changes with its content, so that browsers may keep it for ever."""
        version = (self.version(name) or "")[:16]
        return f"artifact/{self.run.id}/{quote(name)}?v={version}{'&download=1' if download else ''}"

    def metric(self, name: str, kind: Any) -> Any:
        """A metric, where the run told one of this kind; None otherwise."""
        value = self.run.metrics.get(name)
        return value if isinstance(value, kind) and not isinstance(value, bool) else None


@dataclass(frozen=True)
class Panel:
    """A part of a run's page: cards, none where the run has nothing to show. While `version`, which is cheap, stays the
    same, they are not rendered again. `comparison` makes a run's cards in a comparison, `overlay` those of all its runs
    together, by their labels. `metrics` names the metrics that the cards show, which the list of others leaves out."""

    name: str
    show: Callable[[Snapshot], Sequence[Card]]
    version: Callable[[Snapshot], Any]
    section: Section = "result"
    comparison: Callable[[Snapshot], Sequence[Card]] | None = None
    overlay: Callable[[Mapping[str, Snapshot]], Sequence[Card]] | None = None
    metrics: Collection[str] = ()
