"""The panel of the task stream."""

from __future__ import annotations

import time

from workshop.report.cards import Card, figure
from workshop.report.figures import stream
from workshop.report.snapshot import Snapshot

RECENT = 2000  # events that are looked at


def task_stream(snapshot: Snapshot) -> list[Card]:
    """Show what each rank has done in the last seconds and does now."""
    run, names = snapshot.run, [name for name in snapshot.totals if name.startswith(stream.PREFIX)]
    phases = lasting(snapshot)
    # Also some events behind a past moment: they tell what ranks were in the middle of then.
    events = snapshot.store.events(run.id, names, after=max(snapshot.events - RECENT, 0), limit=2 * RECENT)
    recent = stream.stream(events, snapshot.ranks, phases, None if run.ended else min(time.time(), snapshot.until))
    if recent is None:
        return []
    every_phase = [*(name.removeprefix(stream.PREFIX) for name in names), *(phase for phase, _ in phases.values())]
    plot = stream.task_stream(recent, list(dict.fromkeys(every_phase)), run.started_at or recent.begin)
    return [Card("stream", "Task stream", (figure(plot, label=f"Task stream. {recent.sentence}"),))]


def lasting(snapshot: Snapshot) -> stream.Phases:
    """The phases that ranks are in for some time now."""
    stored = {} if snapshot.run.ended else (snapshot.run.activity or {}).get("phases", {})
    return {int(rank): tuple(phase) for rank, phase in stored.items() if phase and int(rank) < snapshot.ranks}
