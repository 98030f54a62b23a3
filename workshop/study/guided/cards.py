"""Cards of the guided study: each step with its figure, its verdict, and what the article found."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import replace
from typing import Any

from workshop.core import words as say
from workshop.report.analysis.spent import as_long_run
from workshop.report.analysis.threads import KINDS
from workshop.report.cards import Card, Part, figure, line, table, words
from workshop.report.figures.bars import settings
from workshop.report.figures.line import line as drawn_line
from workshop.report.figures.memory import memory
from workshop.report.figures.points import Point
from workshop.report.figures.shares import compared
from workshop.report.figures.waterfall import WaterfallStep as Stage
from workshop.report.figures.waterfall import waterfall
from workshop.store.records import RunRecord
from workshop.store.store import Store
from workshop.study.cards import about, cells_table, pick, point, rate_words, runs_card, verdict
from workshop.study.grid.cards import picture
from workshop.study.guided.cells import AFTER, BEFORE, crowded, points
from workshop.study.guided.guesses import about as about_study
from workshop.study.guided.kind import PathReport, StepReport
from workshop.study.guided.step_results import name, threads_of
from workshop.study.guided.steps import OTHERS, SOURCE
from workshop.study.results import CellResult

Parts = tuple[Part, ...]
ZERO = (
    "The axis begins at zero: a leak is a line that goes on climbing. Above it stands all that each has gained; the "
    "verdict counts what comes after the first third, in which pools fill up."
)


def cards(report: PathReport) -> list[Card]:
    """All steps that have something to show, for one's own page and for the export."""
    shown = [card for one in report.steps if one.state != "waiting" for card in step_cards(report, one.step.key)]
    return [verdict(report), *shown, runs_card(report)]


def guessed(report: PathReport, shown: Sequence[Card], steps: Container[str]) -> list[Card]:
    """Of a report's cards, those that give nothing away to somebody who has guessed in these steps only."""
    if all(one.state == "waiting" or one.step.key in steps for one in report.steps):
        return list(shown)
    return [card for card in shown if (key := card.name.partition("-")[2]) and key in steps]


def visible(store: Store, identity: int, report: PathReport, shown: Sequence[Card]) -> list[Card]:
    """The cards of those steps in which somebody has guessed, or looked."""
    keys = [one.step.key for one in report.steps if one.state != "waiting"]
    return guessed(report, shown, {key for key in keys if store.guess(identity, about_study(report.study.id, key))})


def step_cards(report: PathReport, key: str, titled: bool = True) -> list[Card]:
    """One step: its figure with all it has found, and what the article's authors found; then its cells."""
    one, told = report.step(key), report.step(key).verdict
    title = f"{key}. {one.step.title}" if titled else ""
    head: Parts = ()
    if told is not None:
        head = (words(line(told["verdict"], tone="heading"), line(told["why"], "Why"), line(told["next"], "Next")),)
    article = words(line(f"{one.step.article} {OTHERS} {SOURCE}.", "The article:", tone="about"))
    cells = [_bare(cell) for cell in one.cells]
    axes = [axis for axis in _axes(cells) if axis != "gave"]
    return [
        Card(f"step-{key}", title, (*head, *_SHOWN[one.step.shown](report, one, cells), article)),
        Card(f"cells-{key}", "", tuple(cells_table(cells, report.unit, axes))),
    ]


def _bare(cell: CellResult) -> CellResult:
    """A cell as its own step's figures name it."""
    point = {axis: value for axis, value in cell.point.items() if axis != "step"}
    return replace(cell, label=name(cell), point=point)


def _axes(cells: Sequence[CellResult]) -> list[str]:
    return list(dict.fromkeys(axis for cell in cells for axis in cell.point))


def _grid(report: PathReport, one: StepReport, cells: Sequence[CellResult]) -> Parts:
    """The figure of any grid, with what the quick setting has left out."""
    out = sorted(tuple(at.values()) for at in points(report.found, one.step) if crowded(report.found, at))
    names = say.listed(one.step.label.format(*values) for values in out)
    said = f"Left out in the quick setting, with more than two threads for a core: {names}."
    return (*picture(cells, _axes(cells), report.unit), *([about(said)] if out else []))


def _bars(report: PathReport, one: StepReport, cells: Sequence[CellResult]) -> Parts:
    """A bar for each cell, the first of which is what others are compared with."""
    picks = [pick(cell, report.unit) for cell in cells]
    return (figure(settings([point(cell) for cell in cells], report.unit, cells[0].label), picks=picks),)


def _profile(report: PathReport, one: StepReport, cells: Sequence[CellResult]) -> Parts:
    """Threads by kind, and where the time went, of the naive start beside the same rank with all cores."""
    runs = {name(cell): run for cell, run in report.found.measured(one.step.key)}
    census = {label: {kind.kind: kind for kind in threads_of(run)} for label, run in runs.items()}
    parts: list[Part] = []
    if kinds := list(dict.fromkeys(kind for told in census.values() for kind in told)):
        rows = []
        for kind in kinds:
            row = [KINDS.get(kind, kind)]
            for told in census.values():
                there = told.get(kind)
                row += [str(there.count), str(there.busy), say.seconds(there.seconds)] if there else ["–"] * 3
            rows.append(row)
        heads = [f"{label}: {what}" for label in census for what in ("threads", "worked", "processor time")]
        parts.append(table(["Kind of thread", *heads], rows))
    times = {label: _times(run) for label, run in runs.items()}
    if any(times.values()):
        parts += [about("Where the time of the run went, in seconds of it."), figure(compared(times))]
    sizes = [f"{label} {say.size(max(memory))}" for label, run in runs.items() if (memory := run.metrics.get("memory"))]
    if sizes:
        parts.append(about(f"Memory of the rank: {say.listed(sizes)}."))
    return (*parts, *_bars(report, one, cells))


def _times(run: RunRecord) -> Mapping[str, float]:
    """The run's phases of training, and its other seconds."""
    phases = run.metrics.get("phases")
    seconds = {key: float(value) for key, value in (run.metrics.get("seconds") or {}).items() if value}
    if isinstance(phases, Mapping) and phases:
        seconds.pop("train", None)
        seconds |= {key: float(sum(values)) / max(len(values), 1) for key, values in phases.items()}
    return seconds


def _memory(report: PathReport, one: StepReport, cells: Sequence[CellResult]) -> Parts:
    """Resident memory after each evaluation, and what an evaluation took."""
    lines = {way: (list(range(1, len(how.values) + 1)), list(how.values)) for way, how in report.grown.items()}
    return (figure(memory(lines, axis="evaluations")), about(ZERO))


def _evaluation(report: PathReport, one: StepReport, cells: Sequence[CellResult]) -> Parts:
    """Shares of training and evaluation before and after on the most ranks; scaling in images/s and in time."""
    several = sorted({cell.point["ranks"] for cell in cells})
    rings = {}
    for cell, run in report.found.measured(one.step.key):
        if cell.point["ranks"] == several[-1] and (seconds := as_long_run(run)):
            rings[f"{cell.point['evaluation']}, {say.count(several[-1], 'rank')}"] = seconds

    def over_ranks(of: Callable[[RunRecord], float | None], unit: str, ideal: Any) -> Part:
        """A line for each way to evaluate, with a point for each number of ranks."""
        lines: dict[str, list[Point]] = {BEFORE: [], AFTER: []}
        for cell in sorted(cells, key=lambda cell: cell.point["ranks"]):
            told = tuple(value for run in cell.runs if (value := of(report.found.runs[run])) is not None)
            label = say.count(cell.point["ranks"], "rank")
            lines[cell.point["evaluation"]].append(Point(label, told, cell.status, cell.why))
        return figure(drawn_line(several, lines, "ranks", unit, ideal=ideal, mark=False))

    return (
        figure(compared(rings)),
        about("Images a second of training alone, as is most often told:"),
        over_ranks(_training, report.unit, "faster"),
        about("Time for the same images, evaluation counted in:"),
        over_ranks(lambda run: sum(as_long_run(run).values()) or None, "seconds", "shorter"),
    )


def _training(run: RunRecord) -> float | None:
    told = run.metrics.get("images_per_second")
    return float(told) if isinstance(told, (int, float)) else None


def _waterfall(report: PathReport, one: StepReport, cells: Sequence[CellResult]) -> Parts:
    measured = [cell for cell in one.cells if cell.median]
    if len(measured) < 2 or measured[0] is not one.cells[0]:
        return (about("The waterfall needs the naive start and at least one stage behind it."),)
    first, *rest = measured
    stages = [
        Stage(name(cell), cell.median or 0.0, report.found.apart(cell, before))
        for cell, before in zip(rest, measured, strict=False)
    ]
    drawn = waterfall(Stage(name(first), first.median or 0.0), stages, report.unit)
    gave = {cell.point["gave"] for cell in cells} | {one.step.key}
    ended = [other.step for other in report.steps if other.state in ("done", "partly")]
    nothing = [step.short for step in ended if step.key not in gave]
    left = f" Not in it, since they added nothing beyond chance: {say.listed(nothing)}." if nothing else ""
    start = rate_words(first.median, report.unit)
    return (figure(drawn), about(f"Evaluation is counted in, {start} at the start.{left}"))


_SHOWN: Mapping[str, Callable[[PathReport, StepReport, Sequence[CellResult]], Parts]] = {
    "profile": _profile,
    "grid": _grid,
    "memory": _memory,
    "bars": _bars,
    "shares": _evaluation,
    "waterfall": _waterfall,
}
