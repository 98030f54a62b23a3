"""A cut before it runs, by formulas: what each rank has, exchanges and keeps, and when the stages would work."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from workshop.core import words
from workshop.report.cards import Card, Part, figure, line, paragraph, table
from workshop.report.machine_picture import rank_cell
from workshop.workloads.parallel import ParallelParams, figures, schedules, settings
from workshop.workloads.parallel.catalogue import NETWORKS
from workshop.workloads.parallel.communicator import Exchanges
from workshop.workloads.parallel.cuts.zero import ShardedLayer
from workshop.workloads.parallel.network.layers import Layer
from workshop.workloads.parallel.schedules import Kind, StageSpan
from workshop.workloads.parallel.training import CutTraining

MEASURED = {"plan-pipeline": "pipeline", "plan-traffic": "traffic", "plan-memory": "memory-ledger"}  # cards of a run
Cell = str | Mapping[str, Any]
BACKWARD = 2.0  # times the multiplications of the forward computation
RATE = 5e9  # multiplications per second of one core, for the lengths of a timeline only
TIMELINE = (
    "The prediction assumes that work takes a time in proportion to its multiplications, and that messages take no "
    "time. A stage waits in its receives. Numbers are those of micro-batches."
)

LARGE = (
    "Many weights: divide the optimizer's state, the weights or the layers. Large images: divide the space, since the "
    "activations are what doesn't fit. With Adam in mixed precision; transformers compute their activations again, and "
    "have one text for each rank. ResNet and U-Net keep the outputs of their convolutions."
)


def cards(params: ParallelParams, ranks: int) -> list[Card]:
    """Cards of the plan. Raises BadInput where the cut can't be made."""
    plans = settings.plans(params, ranks)
    return [_parts(params, plans), *_timeline(plans), _traffic(plans), _memory(plans)]


def spans(plans: Sequence[CutTraining]) -> list[StageSpan]:
    """The predicted spans of the first pipeline, in seconds."""
    first = [plans[rank] for rank in plans[0].cut.grid.first_pipeline]
    operations = {number: cost.operations for plan in first for number, cost in plan.stage.costs().items()}
    pace = plans[0].cut.pace
    split = schedules.splits(plans[0].streams)
    times: Mapping[Kind, float] = {"forward": 1.0, "backward": 1.0 if split else BACKWARD, "weights": 1.0}
    seconds: Mapping[tuple[str, int], float] = {
        (kind, part): max(pace.get(kind, 0.0), times[kind] * count / RATE)
        for part, count in operations.items()
        for kind in times
    }
    return schedules.predicted(plans[0].streams, seconds)


def _parts(params: ParallelParams, plans: Sequence[CutTraining]) -> Card:
    """The cut as a picture, and the ranks' places in the grid as a table."""
    sizes = _sizes(settings.training(params, settings.ALONE, None))
    layers, cells, columns, grid = list(sizes), {}, [], plans[0].cut.grid
    axes = [axis for axis, size in enumerate(grid.shape) if size > 1]
    rows: list[list[Cell]] = []
    for rank, plan in enumerate(plans):
        for name, size in _sizes(plan).items():
            if name in sizes:
                share = size / sizes[name]
                cells[layers.index(name), rank] = share, _content(params, plan, name, share)
        count = sum(parameter.size for parameter in plan.parameters)
        first, after = (params.batch * share // grid.example_shares for share in (plan.share, plan.share + 1))
        columns.append(f"rank {rank}<br>examples {first + 1} to {after}")
        rows.append([rank_cell(rank), *(str(plan.place[axis]) for axis in axes), words.quantity(count)])
    names = "Part of the data", "Stage", words.capital(grid.kind)
    headings = ["Rank", *(names[axis] for axis in axes), "Weights"]
    return Card("parts", "Who has what", (figure(figures.shares(layers, columns, cells)), table(headings, rows)))


def _sizes(plan: CutTraining) -> dict[str, int]:
    """The weights that a rank has of each layer with weights."""
    sizes: dict[str, int] = {}
    for part in plan.stage.parts.values():
        for layer in part.layers:
            if size := sum(parameter.size for parameter in layer.parameters):
                sizes[_name(layer)] = size
    return sizes


def _content(params: ParallelParams, plan: CutTraining, name: str, share: float) -> str:
    """The part of a layer that a rank has, in words."""
    grid, place = plan.cut.grid, plan.place[2]

    def numbers(what: str, count: int) -> str:
        first, after = (count * edge // grid.layer for edge in (place, place + 1))
        return f"{what} {first + 1} to {after}" if after > first + 1 else f"{what} {after}"

    if grid.layer > 1:
        if grid.kind in ("tensor", "sequence") and "attention" in name:
            return numbers("heads", params.heads)
        if grid.kind == "experts" and share < 1:
            return numbers("experts", params.experts)
        if grid.kind == "spatial" and "convolution" in name:
            return f"all, for {numbers('rows', params.image)}"
    return "all" if share == 1 else words.percent(share)


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
    idle = f"Idle for {words.percent(schedules.idle_share(planned, stages))} of the time."
    parts: tuple[Part, ...] = (paragraph(line(TIMELINE, tone="about"), line(idle)), figure(figures.timeline(planned)))
    return [Card("plan-pipeline", "The pipeline", parts)]


def _traffic(plans: Sequence[CutTraining]) -> Card:
    total = Exchanges()
    for plan in plans:
        total += plan.expected_traffic()
    about = f"All ranks together, in one step: {words.size(total.total)}."
    return Card("plan-traffic", "What a step exchanges", figures.traffic(total.as_json(), about))


def _memory(plans: Sequence[CutTraining]) -> Card:
    ledgers = [plan.planned_memory().as_json() for plan in plans]
    most = max(sum(ledger.values()) for ledger in ledgers)
    alone = paragraph(line(f"The rank that needs most needs {words.size(most)}.", tone="about"))
    return Card("plan-memory", "Memory of each rank", (alone, figure(figures.memory(ledgers))))


def large_networks(memory: float) -> Card:
    """A table of large networks and of the ways in which each fits into devices with so many bytes."""
    rows: list[list[Cell]] = []
    ledgers = {}
    for network in NETWORKS:
        ledgers[network.title] = network.alone.as_json()
        ways = [
            f"{fit.way}: {words.count(fit.ranks, 'device')}, {words.size(fit.ledger.total)} each"
            for fit in network.fits(memory)
        ]
        rows.append(
            [network.title, words.quantity(network.parameters), "; ".join(ways) or "none of these ways", network.source]
        )
    rule = figure(figures.rule(ledgers))
    parts = (paragraph(line(LARGE, tone="about")), rule, table(["Network", "Weights", "Fits with", "Source"], rows))
    return Card("large", "Networks that fit on no laptop", parts)
