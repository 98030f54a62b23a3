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
from workshop.report.snapshot import Sight


@dataclass(frozen=True)
class Panel:
    """`made_of` is what its cards are made of, cheap to find out: while that stays the same, they aren't made anew."""

    name: str
    show: Callable[[Sight], Sequence[Card]]
    made_of: Callable[[Sight], Any]


def _told(sight: Sight) -> Any:
    return sight.events, sight.run.status, sight.run.rank_map, sight.run.metrics


def _files(sight: Sight) -> Any:
    return list(sight.artifacts.values()), sight.run.status, sight.run.metrics


def _predicted(sight: Sight) -> Any:
    return sight.run.rank_map, sight.run.machine, PREDICTIONS.of(sight.run)


def _memory(sight: Sight) -> Any:
    return sight.totals.get(ranks.MEMORY)


def _rounds(sight: Sight) -> Any:
    return (federated.told(sight), sight.run.metrics) if federated.known(sight) else None


def _measured(sight: Sight) -> Any:
    return _told(sight) if allreduce.drawn(sight.totals.keys()) else None


PANELS = (
    Panel("error", outcome.error, lambda sight: sight.run.error),
    Panel("again", outcome.again, _files),
    Panel("verdict", outcome.verdict, lambda sight: (_told(sight), sight.run.verdict)),
    Panel("conditions", training.conditions, lambda sight: sight.run.metrics),
    Panel("photo", photo.photo, _files),
    Panel("allreduce", allreduce.allreduce, _measured),
    Panel("generated", generated.generated, lambda sight: sight.version(generated.GENERATED)),
    Panel("inversion", inversion.inversion, lambda sight: (sight.version(inversion.PICTURE), sight.run.metrics)),
    Panel("overlays", segmentation.overlays, lambda sight: sight.version(segmentation.PICTURE)),
    Panel("curves", told.told, _told),
    Panel("federated", federated.federated, _rounds),
    Panel("guarding", guarding.guarding, guarding.made_of),
    Panel("overlap", segmentation.measures, lambda sight: sight.metric("overlap", Mapping)),
    Panel("by-size", segmentation.by_size, lambda sight: sight.metric("dice_by_size", list)),
    Panel("scanners", segmentation.scanners, lambda sight: sight.metric("institutions", list)),
    Panel("sending", sending.sending, sending.made_of),
    Panel("openfl", openfl.openfl, openfl.made_of),
    Panel("memory", ranks.memory, _memory),
    Panel("spent", training.spent, lambda sight: (sight.run.status, sight.run.metrics)),
    Panel("throughput", training.throughput, lambda sight: sight.run.metrics),
    Panel("timeline", training.timeline, lambda sight: (sight.version(training.TIMELINE), sight.run.metrics)),
    Panel("misclassified", training.misclassified, lambda sight: sight.version(training.MISCLASSIFIED)),
    Panel("threads", ranks.threads, lambda sight: (sight.run.metrics, sight.run.rank_map)),
    Panel("machine", outcome.machine, lambda sight: (sight.run.rank_map, sight.run.machine)),
    Panel("predicted", predicted.predicted, _predicted),
    Panel("metrics", outcome.came_out, lambda sight: sight.run.metrics),
    Panel("files", outcome.files, _files),
)


def side_by_side(sight: Sight) -> list[Card]:
    """What of a run is worth seeing beside another one's."""
    return [
        *training.conditions(sight),
        *photo.photo(sight),
        *inversion.inversion(sight),
        *allreduce.allreduce(sight),
        *federated.federated(sight),
        *guarding.guarding(sight),
        *sending.sending(sight),
        *told.times(sight),
        *training.throughput(sight),
        *outcome.machine(sight),
    ]
