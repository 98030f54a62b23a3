"""The panels of a run's page. A section has those of every run first, then the workload's own."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, get_args

from workshop.extension import MESSAGES, load
from workshop.report.cards import Card
from workshop.report.panels import messages, outcome, run_metrics
from workshop.report.snapshot import Panel, Section, Snapshot


def _state(snapshot: Snapshot) -> Any:
    return snapshot.events, snapshot.run.status, snapshot.run.rank_map, snapshot.run.metrics


def _recent(snapshot: Snapshot) -> Any:
    return _state(snapshot), run_metrics.lasting(snapshot) and int(2 * time.time())  # it is drawn twice a second then


def _files(snapshot: Snapshot) -> Any:
    return list(snapshot.artifacts.values()), snapshot.run.status, snapshot.run.metrics


def _predicted(snapshot: Snapshot) -> Any:
    return snapshot.run.rank_map, snapshot.run.machine, outcome.prediction(snapshot.run)


def _placed(snapshot: Snapshot) -> Any:
    waits = snapshot.run.status == "queued"
    return snapshot.run.rank_map, snapshot.run.machine, waits and outcome.planned(snapshot)


GENERAL = (
    Panel("error", outcome.error, lambda snapshot: snapshot.run.error),
    Panel("again", outcome.resumption, _files),
    Panel("verdict", outcome.verdict, lambda snapshot: (_state(snapshot), snapshot.run.verdict)),
    Panel("metrics", outcome.came_out, lambda snapshot: snapshot.run.metrics),
    Panel("notes", outcome.noted, lambda snapshot: snapshot.store.notes(snapshot.run.id)),
    Panel("curves", run_metrics.curves, _state, "learning", comparison=run_metrics.times),
    Panel("stream", run_metrics.task_stream, _recent, "time"),
    Panel("memory", run_metrics.memory, lambda snapshot: snapshot.totals.get(run_metrics.MEMORY), "time"),
    Panel("messages", messages.messages, lambda snapshot: snapshot.version(MESSAGES), "time"),
    Panel("threads", run_metrics.threads, lambda snapshot: (snapshot.run.metrics, snapshot.run.rank_map), "placement"),
    Panel("machine", outcome.machine, _placed, "placement", comparison=outcome.machine),
    Panel("predicted", outcome.predicted, _predicted, "placement"),
    Panel("files", outcome.files, _files, "files"),
)


@cache
def _ordered(reference: str) -> Sequence[Panel]:
    workload_panels: Sequence[Panel] = load(reference) if reference else ()
    return [
        panel for section in get_args(Section) for panel in (*GENERAL, *workload_panels) if panel.section == section
    ]


def panels(snapshot: Snapshot) -> Sequence[Panel]:
    """The panels of a run, in the order of their sections."""
    return _ordered(snapshot.workload.panels if snapshot.workload is not None else "")


def side_by_side(snapshot: Snapshot) -> list[Card]:
    """A run's cards that are shown beside another run's cards."""
    return [card for panel in panels(snapshot) if panel.comparison is not None for card in panel.comparison(snapshot)]


def overlaid(snapshots: Mapping[str, Snapshot]) -> list[Card]:
    """The cards that show several runs together, by their labels."""
    by_label = {label: {panel.name: panel for panel in panels(snapshot)} for label, snapshot in snapshots.items()}
    shared = {name: panel for of_run in by_label.values() for name, panel in of_run.items()}
    return [
        card
        for name, panel in shared.items()
        if panel.overlay is not None
        for card in panel.overlay({label: snapshots[label] for label, of_run in by_label.items() if name in of_run})
    ]
