"""Cards of the guided study: the rates of a step's cells, and where the time of their steps went."""

from __future__ import annotations

from collections.abc import Sequence

from workshop.core import words
from workshop.report.cards import about, table
from workshop.study.guided.cards import Figures, Parts, bars
from workshop.study.guided.kind import GuidedReport, StepReport
from workshop.study.guided.step_results import name
from workshop.study.results import CellResult
from workshop.workloads.processor.report import times


def _kernels(report: GuidedReport, step_report: StepReport, cells: Sequence[CellResult]) -> Parts:
    """A bar for each cell, and a table of the time of a step by kind of primitive."""
    measured = report.step_results.measured(step_report.step.key)
    spent = {name(cell): times(run.metrics) for cell, run in measured}
    kinds = dict.fromkeys(kind for seconds in spent.values() for kind in seconds)
    rows = [
        [kind, *(words.seconds(seconds[kind]) if kind in seconds else "–" for seconds in spent.values())]
        for kind in kinds
    ]
    logged = (about("Where the time of a step went, by oneDNN's log:"), table(["Primitive", *spent], rows))
    return (*bars(report, step_report, cells), *(logged if rows else ()))


FIGURES: Figures = {"kernels": _kernels}
