"""Cards of a tuning study: its pick and how to run it, the course of the search, the tried placements."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate

import plotly.graph_objects as go

from workshop.core import words
from workshop.report.cards import Card, Part, about, code, figure
from workshop.report.figures import marks, theme
from workshop.report.figures.marks import BEST, CHOSEN, FAILED, NOTHING, PRUNED, Point
from workshop.study.cards import best_card, cells_table, pick, point, runs_card, verdict
from workshop.study.grid.cards import mattered
from workshop.study.results import cell_key, results
from workshop.study.trials import RESULTS, status
from workshop.study.tune.kind import TuneReport
from workshop.study.tune.study import settings

HEIGHT = 380  # pixels
ABOUT = "Each mark is a trial, in their order. Grey crosses were ended early, at the rate that they had reached."
LAUNCHER = "The same without a session, as the MPI's own launcher takes it:"


def search(tried: Sequence[Point], unit: str) -> go.Figure:
    """The rates of trials in their order; a step line is the best so far. Failed trials are at the bottom."""
    if not any(trial.values for trial in tried):
        return theme.nothing_yet(NOTHING, HEIGHT)
    levels = [trial.value or (trial.reached if trial.state == PRUNED else None) or 0.0 for trial in tried]
    so_far = list(accumulate((trial.value or 0.0 for trial in tried), max))
    hover = f"best so far: %{{y:,.7~r}} {unit}<extra></extra>"
    name = f"best so far: <b>{words.quantity(so_far[-1])}</b>"
    numbers = list(range(1, len(tried) + 1))
    traces = [marks.line(numbers, so_far, BEST, hover, line={"shape": "hv"}, name=name)]
    looks = {"trial": ("circle", theme.ACCENT), PRUNED: ("x", theme.MUTED), FAILED: ("x-thin", theme.ALARM)}
    for name, (symbol, colour) in looks.items():
        marked = [at for at, trial in enumerate(tried) if name == ("trial" if trial.values else trial.state)]
        if marked:
            traces.append(
                marks.points(
                    [numbers[at] for at in marked],
                    [levels[at] for at in marked],
                    colour,
                    [tried[at].words(unit) for at in marked],
                    marker={"symbol": symbol, "line": {"width": 2, "color": colour}},
                    name=f"{name} ({len(marked)})",
                    customdata=marked,
                    **CHOSEN,
                )
            )
    return theme.figure(
        traces,
        height=HEIGHT,
        showlegend=True,
        hovermode="closest",
        xaxis={"title": {"text": "trial"}, "nticks": 8},
        yaxis=marks.values_axis(unit, max(levels), range=[-0.03 * max(levels), 1.1 * max(levels)]),
    )


def cards(report: TuneReport) -> list[Card]:
    ended = [trial for trial in report.trials if status(trial, report.runs) in RESULTS]
    by_cell = {cell_key(cell.label, cell.point): cell for cell in report.cells}
    picks = [pick(by_cell[cell_key(trial.label, trial.point)], report.unit) for trial in ended]
    tried = [point(results([trial], report.runs, report.tune_study.rate)[0]) for trial in ended]
    names = {id(report.naive): " (naive start)", id(report.usual): " (default)"}
    named = [replace(cell, label=f"{cell.label}{names.get(id(cell), '')}") for cell in report.cells]
    command, mpirun = report.commands
    parts: list[Part] = [code(command)] if command else []
    parts += [about(LAUNCHER), code(mpirun)] if mpirun else []
    course = [figure(search(tried, report.unit), picks=picks), about(ABOUT)]
    return [
        verdict(report),
        *best_card(report.best, report.unit, parts, "Its pick"),
        Card("search", "The search", tuple(course)),
        *mattered([replace(cell, point=settings(cell.point)) for cell in report.cells]),
        Card("cells", f"What was tried ({len(report.cells)})", tuple(cells_table(named, report.unit, []))),
        runs_card(report),
    ]
