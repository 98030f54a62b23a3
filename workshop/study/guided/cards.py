"""Cards of a guided study: the figure and the verdict of each step, with the published results."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from workshop.core import words
from workshop.extension import load
from workshop.report.actions import without_options
from workshop.report.cards import Card, Part, about, figure, line, paragraph
from workshop.report.figures.bars import WaterfallStep as Stage
from workshop.report.figures.bars import settings, waterfall
from workshop.study.cards import cells_table, pick, point, rate_words, runs_card, verdict
from workshop.study.grid.cards import picture
from workshop.study.guided.kind import GuidedReport, StepReport
from workshop.study.guided.step_results import crowded, name, points
from workshop.study.results import CellResult, compare

Parts = tuple[Part, ...]
Figures = Mapping[str, Callable[[GuidedReport, StepReport, Sequence[CellResult]], Parts]]  # by the step's `figure`


def cards(report: GuidedReport) -> list[Card]:
    """The cards of all begun steps, for the page of the study and for its export."""
    visible_cards = [
        card
        for step_report in report.steps
        if step_report.state != "waiting"
        for card in step_cards(report, step_report.step.key)
    ]
    return [verdict(report), *visible_cards, runs_card(report)]


def step_cards(report: GuidedReport, key: str, titled: bool = True) -> list[Card]:
    """The cards of one step: its figure, its results and the published ones; then its cells."""
    step_report, guide = report.step(key), report.step_results.guide
    title = f"{key}. {step_report.step.title}" if titled else ""
    head: Parts = ()
    if (verdict_texts := step_report.verdict) is not None:
        following = line(without_options(verdict_texts["next"]), "Next")
        head = (
            paragraph(line(verdict_texts["verdict"], tone="heading"), line(verdict_texts["why"], "Why"), following),
        )
    published = f"{step_report.step.published} {guide.others} {guide.source}."
    beside = paragraph(line(published, f"The {guide.reference}:", tone="about"))
    cells = [  # as the step's own figures name them
        replace(cell, label=name(cell), point={axis: value for axis, value in cell.point.items() if axis != "step"})
        for cell in step_report.cells
    ]
    axes = [axis for axis in _axes(cells) if axis != "gave"]
    figures = {**FIGURES, **(load(guide.figures) if guide.figures else {})}
    figure_parts = figures[step_report.step.figure](report, step_report, cells)
    return [
        Card(f"step-{key}", title, (*head, *figure_parts, beside)),
        Card(f"cells-{key}", "", tuple(cells_table(cells, report.unit, axes))),
    ]


def _axes(cells: Sequence[CellResult]) -> list[str]:
    return list(dict.fromkeys(axis for cell in cells for axis in cell.point))


def _grid(report: GuidedReport, step_report: StepReport, cells: Sequence[CellResult]) -> Parts:
    """The figure of a grid, with the cells that the quick setting leaves out."""
    out = sorted(
        tuple(at.values()) for at in points(report.step_results, step_report.step) if crowded(report.step_results, at)
    )
    names = words.listed(step_report.step.label.format(*values) for values in out)
    sentence = f"Left out in the quick setting, with more than two threads for a core: {names}."
    return (*picture(cells, _axes(cells), report.unit), *([about(sentence)] if out else []))


def bars(report: GuidedReport, step_report: StepReport, cells: Sequence[CellResult]) -> Parts:
    """A bar for each cell. The first cell is the one that others are compared with."""
    picks = [pick(cell, report.unit) for cell in cells]
    return (figure(settings([point(cell) for cell in cells], report.unit, cells[0].label), picks=picks),)


def _waterfall(report: GuidedReport, step_report: StepReport, cells: Sequence[CellResult]) -> Parts:
    measured = [cell for cell in step_report.cells if cell.median]
    if len(measured) < 2 or measured[0] is not step_report.cells[0]:
        return (about("The waterfall needs the naive start and at least one stage behind it."),)
    first, *rest = measured
    stages = [
        Stage(name(cell), cell.median or 0.0, compare(cell, before) == "apart")
        for cell, before in zip(rest, measured, strict=False)
    ]
    waterfall_figure = waterfall(Stage(name(first), first.median or 0.0), stages, report.unit)
    gave = {cell.point["gave"] for cell in cells} | {step_report.step.key}
    ended = [other.step for other in report.steps if other.state in ("done", "partly")]
    nothing = [step.short for step in ended if step.key not in gave]
    excluded = f" Not in it, since they added nothing beyond chance: {words.listed(nothing)}." if nothing else ""
    start = rate_words(first.median, report.unit)
    return (figure(waterfall_figure), about(f"Evaluation is counted in, {start} at the start.{excluded}"))


FIGURES: Figures = {"grid": _grid, "bars": bars, "waterfall": _waterfall}
