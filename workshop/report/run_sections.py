"""The sections of one run's live page, for `workshop.server.live`."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from workshop.core.errors import BadInput
from workshop.core.placement import Placement
from workshop.extension import Panel
from workshop.report import html
from workshop.report.activity import ActivityReader
from workshop.report.cards import Card, line, words
from workshop.report.panels import panels
from workshop.report.sentences import STATUS, dumps, state_words, turn_words, waits_for, who
from workshop.report.snapshot import Snapshot
from workshop.store.queue import expected_wait
from workshop.store.records import RunRecord
from workshop.store.store import Store

LIVE, ENDED = 0.25, 2.0  # seconds between looks
MOMENTS = 400  # of a replay
# What reading something that isn't as expected can raise; what the store raises concerns the whole page.
UNREADABLE = (ValueError, LookupError, TypeError, AttributeError, ArithmeticError)

log = logging.getLogger(__name__)


class RunLook:
    """Reads a run; a panel is rendered again only when its data have changed."""

    def __init__(self, store: Store, run_id: int) -> None:
        self.store = store
        self.id = run_id
        self.every = LIVE
        self._seen: dict[str, Any] = {}
        self._activity = ActivityReader(store)

    def __call__(self) -> Mapping[str, str]:
        run = self.store.run(self.id)
        self.every = ENDED if run.ended else LIVE
        snapshot = Snapshot(self.store, run)
        page_panels = panels(snapshot)
        sections = {
            "panels": dumps({panel.name: panel.section for panel in page_panels}),
            "run": dumps(self._facts(snapshot)),
        }
        for panel in page_panels:
            version = panel.version(snapshot)
            if panel.name not in self._seen or self._seen[panel.name] != version:
                sections[panel.name] = _render(panel, snapshot)
                self._seen[panel.name] = version
        if snapshot.newest is not None:
            sections["told"] = dumps({"events": snapshot.events, "newest": snapshot.newest})
        return sections

    def _facts(self, snapshot: Snapshot) -> dict[str, Any]:
        run, workload = snapshot.run, snapshot.workload
        facts = {
            "id": run.id,
            "title": workload.title if workload else run.workload,
            "opens": workload.opens if workload else "learning",
            "status": run.status,
            "words": "cancelling" if run.cancel_requested and not run.ended else STATUS[run.status],
            "ended": run.ended,
            "session": run.session,
            "who": who(run),
            "placement": Placement.parse(run.placement).describe(),
            "progress": run.progress,
            "activity": self._activity.words(run),
            "queued_at": run.queued_at,
            "started_at": run.started_at,
            "finished_at": run.finished_at,
            "notices": run.notices,
            "owner": run.identity_id,
            "turn": None,
        }
        if run.status == "queued":
            facts["turn"] = f"{turn(self.store, run)} {state_words(self.store.session(run.session_id))}"
        return facts


def moment(store: Store, run_id: int, number: int) -> str:
    """The panels of an ended run as they were at one of its moments, from 0 (its start) to `MOMENTS` (its end), as a
    JSON object. Raises BadInput for a run that has no such moment."""
    run = store.run(run_id)
    if run.started_at is None or run.finished_at is None or number > MOMENTS:
        raise BadInput(f"Run {run_id} has no moment {number}; runs that have ended have the moments 0 to {MOMENTS}.")
    snapshot = Snapshot(store, run, run.started_at + (run.finished_at - run.started_at) * number / MOMENTS)
    return f"{{{','.join(f'{dumps(panel.name)}:{_render(panel, snapshot)}' for panel in panels(snapshot))}}}"


def turn(store: Store, run: RunRecord) -> str:
    """When a queued run is likely to begin, or for whom it waits."""
    if words := waits_for(store.session(run.session_id), run):
        return words
    queue = store.queue(run.session_id)
    position = next((number for number, other in enumerate(queue, 1) if other.id == run.id), 1)
    running = next(iter(store.runs(session_id=run.session_id, status="running", limit=1)), None)
    waits = expected_wait(queue, running, store.runs(session_id=run.session_id, limit=50))
    before = next(iter(store.leases(run.session_id)), None)
    behind = queue[position - 2] if position > 1 else running
    return turn_words(position, before, waits.get(run.id), behind)


def _render(panel: Panel, snapshot: Snapshot) -> str:
    """A panel's cards as JSON. One that can't read what a workload left must not take the others with it."""
    try:
        return html.live(panel.show(snapshot), tables=snapshot.run.ended)
    except UNREADABLE:
        log.exception("the panel %s of run %s could not be made", panel.name, snapshot.run.id)
        message = "This part can't be shown: the run left something that can't be read; the dashboard's log says what."
        return html.live([Card(panel.name, panel.name.capitalize(), (words(line(message, tone="alarm")),), later=True)])
