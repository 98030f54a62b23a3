"""A cut before it runs, by formulas: what each rank has, exchanges and keeps, and when the stages would work."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from workshop.core import words as say
from workshop.report.cards import Card, Part, figure, line, table, words
from workshop.report.machine_picture import rank_cell
from workshop.workloads.parallel import ParallelParams, figures, settings, timeline
from workshop.workloads.parallel.catalogue import NETWORKS
from workshop.workloads.parallel.communicator import Exchanges
from workshop.workloads.parallel.cuts.zero import ShardedLayer
from workshop.workloads.parallel.network.layers import Layer
from workshop.workloads.parallel.schedules import Kind, StageSpan
from workshop.workloads.parallel.training import CutTraining

Cell = str | Mapping[str, Any]
BACKWARD = 2.0  # times the multiplications of the forward computation
RATE = 5e9  # multiplications per second of one core, for the lengths of a timeline only
TIMELINE = (
    "If work takes a time in proportion to its multiplications and messages take none. Numbers are those of "
    "micro-batches."
)

LARGE = (
    "Many weights: divide the optimizer's state, the weights or the layers. Large images: divide the space, since the "
    "activations are what doesn't fit. With Adam in mixed precision; transformers compute their activations again, and "
    "have one text for each rank. ResNet and U-Net keep the outputs of their convolutions."
)


def cards(params: ParallelParams, ranks: int) -> list[Card]:
    """Cards of the plan. Raises BadInput where the cut can't be made."""
    plans = settings.plans(params, ranks)
    return [_parts(plans), *_timeline(plans), _traffic(plans), _memory(plans)]


def spans(plans: Sequence[CutTraining]) -> list[StageSpan]:
    """The predicted spans of the first pipeline, in seconds."""
    first = [plans[rank] for rank in plans[0].cut.grid.first_pipeline]
    operations = {number: cost.operations for plan in first for number, cost in plan.stage.costs().items()}
    pace = plans[0].cut.pace
    split = any(step.kind == "weights" for stream in plans[0].streams for step in stream)
    times: Mapping[Kind, float] = {"forward": 1.0, "backward": 1.0 if split else BACKWARD, "weights": 1.0}
    seconds: Mapping[tuple[str, int], float] = {
        (kind, part): max(pace.get(kind, 0.0), times[kind] * count / RATE)
        for part, count in operations.items()
        for kind in times
    }
    return timeline.predicted(plans[0].streams, seconds)


def _parts(plans: Sequence[CutTraining]) -> Card:
    rows: list[list[Cell]] = []
    for rank, plan in enumerate(plans):
        data, pipeline, layer = plan.place
        layers = [_name(layer) for part in plan.stage.parts.values() for layer in part.layers]
        count = sum(parameter.size for parameter in plan.parameters)
        rows.append([rank_cell(rank), str(data), str(pipeline), str(layer), ", ".join(layers), say.thousands(count)])
    kind = plans[0].cut.grid.kind
    headings = ["Rank", "Data", "Stage", say.capital(kind), "Layers", "Weights"]
    return Card("parts", "Who has what", (table(headings, rows),))


def _name(layer: Layer) -> str:
    """A layer by the name of its first weights, such as block0.attention."""
    full = layer.full if isinstance(layer, ShardedLayer) else list(layer.parameters)
    if not full:
        return type(layer).__name__.lower()
    names = full[0].name.split(".")
    return ".".join(names[:2] if len(names) > 2 or names[0] == "head" else names[:1])


def _timeline(plans: Sequence[CutTraining]) -> list[Card]:
    stages = plans[0].cut.grid.pipeline
    if stages == 1:
        return []
    planned = spans(plans)
    idle = f"Idle for {say.percent(timeline.idle(planned, stages))} of the time."
    parts: tuple[Part, ...] = (words(line(TIMELINE, tone="about"), line(idle)), figure(figures.timeline(planned)))
    return [Card("plan-pipeline", "The pipeline, predicted", parts)]


def _traffic(plans: Sequence[CutTraining]) -> Card:
    total = Exchanges()
    for plan in plans:
        total += plan.expected_traffic()
    rows = [figures.kind_words(kind, calls, size) for kind, (calls, size) in total.as_json().items()]
    if not rows:
        return Card("plan-traffic", "What a step exchanges", (words(line("Nothing: one rank has all of it.")),))
    all_ranks = words(line(f"All ranks together, in one step: {say.size(total.total)}.", tone="about"))
    return Card("plan-traffic", "What a step exchanges", (all_ranks, table(["Along", "Kind", "Calls", "Bytes"], rows)))


def _memory(plans: Sequence[CutTraining]) -> Card:
    ledgers = [plan.planned_memory().as_json() for plan in plans]
    most = max(sum(ledger.values()) for ledger in ledgers)
    alone = words(line(f"The rank that needs most needs {say.size(most)}.", tone="about"))
    return Card("plan-memory", "Memory of each rank", (alone, figure(figures.memory(ledgers))))


def large_networks(memory: float) -> Card:
    """A table of large networks and of the ways in which each fits into devices with so many bytes."""
    rows: list[list[Cell]] = []
    for network in NETWORKS:
        ways = [
            f"{fit.way}: {say.count(fit.ranks, 'device')}, {say.size(fit.ledger.total)} each"
            for fit in network.fits(memory)
        ]
        rows.append(
            [network.title, say.rate(network.parameters), "; ".join(ways) or "none of these ways", network.source]
        )
    parts = (words(line(LARGE, tone="about")), table(["Network", "Weights", "Fits with", "Source"], rows))
    return Card("large", "Networks that fit on no laptop", parts)
