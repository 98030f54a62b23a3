"""Cards of a guided study: each step with its figure, its verdict, and what those found whom it follows."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import replace

from workshop.core import words as say
from workshop.report.cards import Card, Part, figure, line, words
from workshop.report.figures.bars import settings
from workshop.report.figures.waterfall import WaterfallStep as Stage
from workshop.report.figures.waterfall import waterfall
from workshop.store.store import Store
from workshop.study.cards import about, cells_table, pick, point, rate_words, runs_card, verdict
from workshop.study.grid.cards import picture
from workshop.study.guided.grid import crowded, points
from workshop.study.guided.guesses import about as about_study
from workshop.study.guided.kind import GuidedReport, StepReport
from workshop.study.guided.step_results import name
from workshop.study.results import CellResult

Parts = tuple[Part, ...]
Figures = Mapping[str, Callable[[GuidedReport, StepReport, Sequence[CellResult]], Parts]]  # by what a step has `shown`


def cards(report: GuidedReport, figures: Figures) -> list[Card]:
    """All steps that have something to show, for one's own page and for the export. `figures` are the capability's."""
    shown = [
        card for one in report.steps if one.state != "waiting" for card in step_cards(report, one.step.key, figures)
    ]
    return [verdict(report), *shown, runs_card(report)]


def guessed(report: GuidedReport, shown: Sequence[Card], steps: Container[str]) -> list[Card]:
    """Of a report's cards, those that give nothing away to somebody who has guessed in these steps only."""
    if all(one.state == "waiting" or one.step.key in steps for one in report.steps):
        return list(shown)
    return [card for card in shown if (key := card.name.partition("-")[2]) and key in steps]


def visible(store: Store, identity: int, report: GuidedReport, shown: Sequence[Card]) -> list[Card]:
    """The cards of those steps in which somebody has guessed, or looked."""
    keys = [one.step.key for one in report.steps if one.state != "waiting"]
    return guessed(report, shown, {key for key in keys if store.guess(identity, about_study(report.study.id, key))})


def step_cards(report: GuidedReport, key: str, figures: Figures, titled: bool = True) -> list[Card]:
    """One step: its figure with all it has found, and what those found whom the study follows; then its cells."""
    one, told, guide = report.step(key), report.step(key).verdict, report.found.guide
    title = f"{key}. {one.step.title}" if titled else ""
    head: Parts = ()
    if told is not None:
        head = (words(line(told["verdict"], tone="heading"), line(told["why"], "Why"), line(told["next"], "Next")),)
    published = f"{one.step.published} {guide.others} {guide.source}."
    beside = words(line(published, f"The {guide.reference}:", tone="about"))
    cells = [_bare(cell) for cell in one.cells]
    axes = [axis for axis in _axes(cells) if axis != "gave"]
    drawn = {**FIGURES, **figures}[one.step.shown](report, one, cells)
    return [
        Card(f"step-{key}", title, (*head, *drawn, beside)),
        Card(f"cells-{key}", "", tuple(cells_table(cells, report.unit, axes))),
    ]


def _bare(cell: CellResult) -> CellResult:
    """A cell as its own step's figures name it."""
    point = {axis: value for axis, value in cell.point.items() if axis != "step"}
    return replace(cell, label=name(cell), point=point)


def _axes(cells: Sequence[CellResult]) -> list[str]:
    return list(dict.fromkeys(axis for cell in cells for axis in cell.point))


def _grid(report: GuidedReport, one: StepReport, cells: Sequence[CellResult]) -> Parts:
    """The figure of any grid, with what the quick setting has left out."""
    out = sorted(tuple(at.values()) for at in points(report.found, one.step) if crowded(report.found, at))
    names = say.listed(one.step.label.format(*values) for values in out)
    said = f"Left out in the quick setting, with more than two threads for a core: {names}."
    return (*picture(cells, _axes(cells), report.unit), *([about(said)] if out else []))


def bars(report: GuidedReport, one: StepReport, cells: Sequence[CellResult]) -> Parts:
    """A bar for each cell, the first of which is what others are compared with."""
    picks = [pick(cell, report.unit) for cell in cells]
    return (figure(settings([point(cell) for cell in cells], report.unit, cells[0].label), picks=picks),)


def _waterfall(report: GuidedReport, one: StepReport, cells: Sequence[CellResult]) -> Parts:
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


FIGURES: Figures = {"grid": _grid, "bars": bars, "waterfall": _waterfall}
