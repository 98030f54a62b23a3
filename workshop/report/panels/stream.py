"""The panel of the task stream."""

from __future__ import annotations

import math
import time
from typing import Any

from workshop.report.analysis import stream
from workshop.report.cards import Card, figure
from workshop.report.figures.stream import task_stream as draw
from workshop.report.snapshot import Snapshot

RECENT = 2000  # events that are looked at


def task_stream(snapshot: Snapshot) -> list[Card]:
    """What each rank has done in the last seconds, and does now."""
    names = [name for name in snapshot.totals if name.startswith(stream.PREFIX)]
    phases = lasting(snapshot)
    if not names and not phases:
        return []
    ended, replayed = snapshot.run.ended, snapshot.until < math.inf
    # Events behind a past moment tell what ranks were in the middle of then.
    limit = 2 * RECENT if replayed else RECENT
    events = snapshot.store.events(snapshot.run.id, names, after=max(snapshot.events - RECENT, 0), limit=limit)
    now = None if ended else min(time.time(), snapshot.until)
    recent = stream.stream(events, snapshot.ranks, phases, now)
    if recent is None:
        return []
    start = snapshot.run.started_at or recent.begin
    every_phase = dict.fromkeys(
        [*(name.removeprefix(stream.PREFIX) for name in names), *(p for p, _ in phases.values())]
    )
    plot = draw(recent, list(every_phase), start)
    return [Card("stream", "Task stream", (figure(plot, label=f"Task stream. {recent.sentence}"),))]


def version(snapshot: Snapshot) -> Any:
    """Changes with the events, and twice a second while a phase lasts."""
    phases = lasting(snapshot)
    return snapshot.events, snapshot.run.status, phases, int(2 * time.time()) if phases else 0


def lasting(snapshot: Snapshot) -> stream.Phases:
    """The phases that ranks are in for some time now."""
    if snapshot.run.ended or snapshot.until < math.inf:
        return {}
    stored = (snapshot.run.activity or {}).get("phases", {})
    return {int(rank): (phase[0], phase[1]) for rank, phase in stored.items() if phase}
