"""A session that a test uses."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tests.support import limit, until
from workshop.core import config
from workshop.core.placement import Placement
from workshop.sessions import client, leftovers
from workshop.store.records import RunRecord, SessionRecord
from workshop.store.store import Store


@dataclass
class Session:
    store: Store
    record: SessionRecord
    home: Path

    def submit(self, workload: str, placement: Placement | None = None, **params: object) -> RunRecord:
        where = placement.as_json() if placement else None
        return client.submit(self.store, self.store.session(self.record.id), workload, params, where)

    def run(self, workload: str, placement: Placement | None = None, **params: object) -> RunRecord:
        return client.wait(self.store, self.submit(workload, placement, **params).id, timeout=limit(60))

    def wait(self, run: RunRecord, seconds: float = 60) -> RunRecord:
        return client.wait(self.store, run.id, timeout=limit(seconds))

    def started(self, run: RunRecord, event: str = "value") -> None:
        until(lambda: self.store.totals(run.id).get(event), 60, f"run {run.id} to tell {event}")

    @property
    def now(self) -> SessionRecord:
        return self.store.session(self.record.id)

    def segments(self) -> list[Path]:
        """The shared memory of the ranks that are up."""
        return leftovers.remembered(config.session_folder(self.record.id))
