"""The steps over hosts: their cells and verdicts for `workshop.study.guided`, and the kind of study that they make."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from workshop.core import words
from workshop.core.memory import size
from workshop.core.placement import Host, Placement
from workshop.study.guided.guesses import Answer
from workshop.study.guided.guide import Events, Guide, Step, Verdict
from workshop.study.guided.kind import kind
from workshop.study.guided.plan import form, points
from workshop.study.guided.step_results import StepResults, gain, name
from workshop.study.results import CellResult
from workshop.study.scaling.efficiency import PUBLISHED
from workshop.study.trials import Cell

OUT_OF_MEMORY = "OutOfMemory: "  # how a run that the session has ended for its memory begins to say why


def cells(findings: StepResults, step: Step) -> list[Cell]:
    """The cells of a step, labelled without the step's name."""
    return [_cell(findings, step, point) for point in points(findings, step)]


def _cell(findings: StepResults, step: Step, point: Mapping[str, Any]) -> Cell:
    """A rank on each of some hosts, or some ranks on the first host. A host has one slot, which each session has."""
    setting, count = findings.setting, point.get("hosts", 1)
    hosts, ranks = tuple(Host(name=host) for host in setting.hosts[:count]), point.get("ranks", count)
    crowded = ranks > count
    where = Placement(ranks=ranks, hosts=hosts, map_by="node", bind_to="none", threads=1, oversubscribe=crowded)
    params = {**setting.params, **step.params, "evaluate_every": setting.params["iterations"], "trace": 0}
    params |= {axis: value for axis, value in point.items() if axis not in ("hosts", "ranks")}
    return Cell(step.label.format(*point.values()), params, where.as_json(), dict(point))


def _private(findings: StepResults, cell: CellResult | None) -> float:
    """The most bytes that a rank of a cell has for itself; 0 if that was not measured."""
    run = findings.run(cell)
    return float(max((run.metrics.get("private_memory") if run is not None else None) or [0]))


def _exchange_share(findings: StepResults, cell: CellResult) -> str:
    """The share of the exchange, with waits for it, in the steps of a cell's ranks."""
    run = findings.run(cell)
    seconds = {phase: sum(by_rank) for phase, by_rank in run.metrics["phases"].items()} if run is not None else {}
    return (
        words.percent((seconds["communicate"] + seconds["wait"]) / sum(seconds.values()))
        if seconds
        else "an unknown part"
    )


def speedups(findings: StepResults, step_key: str) -> list[tuple[CellResult, float]]:
    """The cell with the most hosts, and how many times the images/s of one host it has, by the compute of a step."""
    vary = findings.guide.step(step_key).vary
    pairs = [
        [findings.at(step_key, compute=seconds, hosts=hosts) for hosts in (max(vary["hosts"]), 1)]
        for seconds in sorted(vary["compute"])
    ]
    return [(several, gain(several, first)) for several, first in pairs if several is not None and first is not None]


def fit(findings: StepResults, step_key: str) -> tuple[CellResult | None, CellResult | None]:
    """The cell with the most ranks that a host holds, and the first one behind it whose ranks were ended."""
    by_ranks = sorted(findings.results(step_key), key=lambda cell: cell.point["ranks"])
    largest = next((cell for cell in reversed(by_ranks) if cell.rates), None)
    behind = by_ranks[by_ranks.index(largest) + 1 :] if largest is not None else []
    return largest, next((cell for cell in behind if cell.why.startswith(OUT_OF_MEMORY)), None)


def judge(findings: StepResults, step_key: str, events: Events) -> Verdict | None:
    """The verdict of a step; None if it hasn't measured enough."""
    step = findings.guide.step(step_key)
    if "hosts" in step.vary:
        gains = speedups(findings, step_key)
        if len(gains) < 2:
            return None
        (short, low), *_, (long, high) = gains
        return step.judge(
            "gain",
            hosts=long.point["hosts"],
            low=low,
            high=high,
            short=words.seconds(short.point["compute"]),
            long=words.seconds(long.point["compute"]),
            short_share=_exchange_share(findings, short),
            long_share=_exchange_share(findings, long),
            failures=findings.failures(step_key),
        )
    if "size" in step.vary:
        sizes = {name(cell): _private(findings, cell) for cell in findings.results(step_key)}
        each = words.listed(f"{label} {size(count)}" for label, count in sizes.items())
        return step.judge("sizes", each=each, largest=size(max(sizes.values()))) if all(sizes.values()) else None
    largest, ended = fit(findings, step_key)
    if largest is None:
        return None
    facts = {"ranks": words.count(largest.point["ranks"], "rank"), "each": size(_private(findings, largest))}
    if ended is None:
        return step.judge("all", **facts, start=findings.guide.start, failures=findings.failures(step_key))
    return step.judge("some", **facts, more=ended.point["ranks"], why=ended.why.removeprefix(OUT_OF_MEMORY))


def _speedup(findings: StepResults, step_key: str, events: Events) -> Answer | None:
    gains = speedups(findings, step_key)
    return Answer(gains[0][1], margin=findings.chance.usual) if gains else None


def _memory(findings: StepResults, step_key: str, events: Events) -> Answer | None:
    most = max(_private(findings, cell) for cell in findings.results(step_key))
    return Answer(most / 2**20) if most else None


def _ranks(findings: StepResults, step_key: str, events: Events) -> Answer | None:
    largest, _ = fit(findings, step_key)
    return Answer(float(largest.point["ranks"])) if largest is not None else None


GUIDE = Guide.read(
    __package__,
    source=next(published.source for published in PUBLISHED if published.what == "S-GAN"),
    cells=cells,
    judge=judge,
    answers={"speedup": _speedup, "memory": _memory, "ranks": _ranks},
)
KIND = kind(GUIDE)
FORM = form(GUIDE)
