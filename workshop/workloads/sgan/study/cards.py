"""Cards of the article's path: the figures that only the S-GAN's steps have."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from workshop.core import words
from workshop.report.analysis.threads import KINDS
from workshop.report.cards import Part, about, figure, table
from workshop.report.figures.bars import rings
from workshop.report.figures.line import line as drawn_line
from workshop.report.figures.line import memory
from workshop.report.figures.marks import Point
from workshop.report.training.facts import as_long_run
from workshop.store.records import RunRecord
from workshop.study.guided.cards import Figures, Parts, bars
from workshop.study.guided.kind import GuidedReport, StepReport
from workshop.study.guided.step_results import name
from workshop.study.results import CellResult, rate_of
from workshop.workloads.sgan.study.facts import AFTER, BEFORE, growth_of, threads_of

ZERO = (
    "The axis begins at zero: a leak is a line that goes on climbing. Above it stands all that each has gained; the "
    "verdict counts what comes after the first third, in which pools fill up."
)


def _profile(report: GuidedReport, step_report: StepReport, cells: Sequence[CellResult]) -> Parts:
    """Threads by kind and the use of time, for the naive start and for the same rank with all cores."""
    runs = {name(cell): run for cell, run in report.step_results.measured(step_report.step.key)}
    census = {label: {kind.kind: kind for kind in threads_of(run)} for label, run in runs.items()}
    parts: list[Part] = []
    rows = {kind: [KINDS.get(kind, kind)] for counts in census.values() for kind in counts}
    for kind, counts in ((kind, counts) for kind in rows for counts in census.values()):
        threads = counts.get(kind)
        rows[kind] += [str(threads.count), str(threads.busy), words.seconds(threads.seconds)] if threads else ["–"] * 3
    if rows:
        heads = [f"{label}: {what}" for label in census for what in ("threads", "worked", "processor time")]
        parts.append(table(["Kind of thread", *heads], list(rows.values())))
    times = {label: _times(run) for label, run in runs.items()}
    if any(times.values()):
        parts += [about("Where the time of the run went, in seconds of it."), figure(rings(times))]
    return (*parts, *bars(report, step_report, cells))


def _times(run: RunRecord) -> Mapping[str, float]:
    """The run's phases of training, and its other seconds."""
    phases = run.metrics.get("phases")
    seconds = {key: float(value) for key, value in (run.metrics.get("seconds") or {}).items() if value}
    if isinstance(phases, Mapping) and phases:
        seconds.pop("train", None)
        seconds |= {key: float(sum(values)) / max(len(values), 1) for key, values in phases.items()}
    return seconds


def _memory(report: GuidedReport, step_report: StepReport, cells: Sequence[CellResult]) -> Parts:
    """Resident memory after each evaluation."""
    lines = {
        way: (list(range(1, len(how.values) + 1)), list(how.values))
        for way, how in growth_of(report.step_results).items()
    }
    return (figure(memory(lines, axis="evaluations")), about(ZERO))


def _evaluation(report: GuidedReport, step_report: StepReport, cells: Sequence[CellResult]) -> Parts:
    """Shares of training and evaluation before and after on the most ranks; scaling in images/s and in time."""
    several = sorted({cell.point["ranks"] for cell in cells})
    shares = {}
    for cell, run in report.step_results.measured(step_report.step.key):
        if cell.point["ranks"] == several[-1] and (seconds := as_long_run(run)):
            shares[f"{cell.point['evaluation']}, {words.count(several[-1], 'rank')}"] = seconds

    def over_ranks(value_of: Callable[[RunRecord], float | None], unit: str, ideal: Any) -> Part:
        """A line for each way to evaluate, with a point for each number of ranks."""
        lines: dict[str, list[Point]] = {BEFORE: [], AFTER: []}
        for cell in sorted(cells, key=lambda cell: cell.point["ranks"]):
            values = tuple(value for run in cell.runs if (value := value_of(report.step_results.runs[run])) is not None)
            label = words.count(cell.point["ranks"], "rank")
            lines[cell.point["evaluation"]].append(Point(label, values, cell.status, cell.why))
        return figure(drawn_line(several, lines, "ranks", unit, ideal=ideal, mark=False))

    return (
        figure(rings(shares)),
        about("Images a second of training alone, as is most often told:"),
        over_ranks(lambda run: rate_of(run, "images_per_second"), report.unit, "faster"),
        about("Time for the same images, evaluation counted in:"),
        over_ranks(lambda run: sum(as_long_run(run).values()) or None, "seconds", "shorter"),
    )


FIGURES: Figures = {"profile": _profile, "memory": _memory, "shares": _evaluation}
