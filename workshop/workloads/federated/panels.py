"""The panels of a federation's page: its rounds, attack and defence, and what left its institutions."""

from __future__ import annotations

from typing import Any

from workshop.extension import Panel
from workshop.report.snapshot import Snapshot
from workshop.workloads.federated import guard_panels, round_panels, sending_panels


def _rounds(snapshot: Snapshot) -> Any:
    return (round_panels.told(snapshot), snapshot.run.metrics) if round_panels.known(snapshot) else None


PANELS = (
    Panel(
        "federated",
        round_panels.federated,
        _rounds,
        "learning",
        beside=round_panels.federated,
        told=round_panels.TOLD_HERE,
    ),
    Panel(
        "guarding",
        guard_panels.guarding,
        guard_panels.made_of,
        "learning",
        beside=guard_panels.guarding,
        told=guard_panels.TOLD_HERE,
    ),
    Panel("sending", sending_panels.sending, sending_panels.made_of, "learning", beside=sending_panels.sending),
)
