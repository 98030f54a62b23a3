"""Panels: the sections of a run's page, in their order.

A panel is a pure function from what there is to see of a run to cards, none where the run told nothing that it could
show. A workload whose runs have something new to show gets another panel here, and nothing else changes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from workshop.report.cards import Card
from workshop.report.panels import (
    allreduce,
    federated,
    generated,
    guarding,
    inversion,
    openfl,
    outcome,
    photo,
    predicted,
    ranks,
    segmentation,
    sending,
    told,
    training,
)
from workshop.report.predictions import PREDICTIONS
from workshop.report.snapshot import Snapshot


@dataclass(frozen=True)
class Panel:
    """`made_of` is what its cards are made of, cheap to find out: while that stays the same, they aren't made anew."""

    name: str
    show: Callable[[Snapshot], Sequence[Card]]
    made_of: Callable[[Snapshot], Any]


def _told(snapshot: Snapshot) -> Any:
    return snapshot.events, snapshot.run.status, snapshot.run.rank_map, snapshot.run.metrics


def _files(snapshot: Snapshot) -> Any:
    return list(snapshot.artifacts.values()), snapshot.run.status, snapshot.run.metrics


def _predicted(snapshot: Snapshot) -> Any:
    return snapshot.run.rank_map, snapshot.run.machine, PREDICTIONS.of(snapshot.run)


def _memory(snapshot: Snapshot) -> Any:
    return snapshot.totals.get(ranks.MEMORY)


def _rounds(snapshot: Snapshot) -> Any:
    return (federated.told(snapshot), snapshot.run.metrics) if federated.known(snapshot) else None


def _measured(snapshot: Snapshot) -> Any:
    return _told(snapshot) if allreduce.drawn(snapshot.totals.keys()) else None


PANELS = (
    Panel("error", outcome.error, lambda snapshot: snapshot.run.error),
    Panel("again", outcome.again, _files),
    Panel("verdict", outcome.verdict, lambda snapshot: (_told(snapshot), snapshot.run.verdict)),
    Panel("conditions", training.conditions, lambda snapshot: snapshot.run.metrics),
    Panel("photo", photo.photo, _files),
    Panel("allreduce", allreduce.allreduce, _measured),
    Panel("generated", generated.generated, lambda snapshot: snapshot.version(generated.GENERATED)),
    Panel(
        "inversion", inversion.inversion, lambda snapshot: (snapshot.version(inversion.PICTURE), snapshot.run.metrics)
    ),
    Panel("overlays", segmentation.overlays, lambda snapshot: snapshot.version(segmentation.PICTURE)),
    Panel("curves", told.told, _told),
    Panel("federated", federated.federated, _rounds),
    Panel("guarding", guarding.guarding, guarding.made_of),
    Panel("overlap", segmentation.measures, lambda snapshot: snapshot.metric("overlap", Mapping)),
    Panel("by-size", segmentation.by_size, lambda snapshot: snapshot.metric("dice_by_size", list)),
    Panel("scanners", segmentation.scanners, lambda snapshot: snapshot.metric("institutions", list)),
    Panel("sending", sending.sending, sending.made_of),
    Panel("openfl", openfl.openfl, openfl.made_of),
    Panel("memory", ranks.memory, _memory),
    Panel("spent", training.spent, lambda snapshot: (snapshot.run.status, snapshot.run.metrics)),
    Panel("throughput", training.throughput, lambda snapshot: snapshot.run.metrics),
    Panel("timeline", training.timeline, lambda snapshot: (snapshot.version(training.TIMELINE), snapshot.run.metrics)),
    Panel("misclassified", training.misclassified, lambda snapshot: snapshot.version(training.MISCLASSIFIED)),
    Panel("threads", ranks.threads, lambda snapshot: (snapshot.run.metrics, snapshot.run.rank_map)),
    Panel("machine", outcome.machine, lambda snapshot: (snapshot.run.rank_map, snapshot.run.machine)),
    Panel("predicted", predicted.predicted, _predicted),
    Panel("metrics", outcome.came_out, lambda snapshot: snapshot.run.metrics),
    Panel("files", outcome.files, _files),
)


def side_by_side(snapshot: Snapshot) -> list[Card]:
    """What of a run is worth seeing beside another one's."""
    return [
        *training.conditions(snapshot),
        *photo.photo(snapshot),
        *inversion.inversion(snapshot),
        *allreduce.allreduce(snapshot),
        *federated.federated(snapshot),
        *guarding.guarding(snapshot),
        *sending.sending(snapshot),
        *told.times(snapshot),
        *training.throughput(snapshot),
        *outcome.machine(snapshot),
    ]
