"""Cards of a tuning study: its pick and how to run it, the cost and course of the search, the tried placements."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate

import plotly.graph_objects as go

from workshop.core.words import quantity
from workshop.core.words import seconds as duration
from workshop.report.cards import Card, Part, about, code, figure
from workshop.report.figures import marks, theme
from workshop.report.figures.points import BEST, CHOSEN, FAILED, NOTHING, PRUNED, Point
from workshop.store.records import Trial
from workshop.study.cards import best_card, cells_table, pick, point, runs_card, verdict
from workshop.study.results import cell_key, results
from workshop.study.trials import RESULTS, status
from workshop.study.tune.kind import TuneReport
from workshop.study.tune.search import spent

HEIGHT = 380  # pixels
WIDE = 180.0  # seconds from which the axis has minutes


@dataclass(frozen=True)
class Tried:
    """One trial, and the seconds of measuring that the search had cost at its end."""

    point: Point
    cost: float


def search(tried: Sequence[Tried], unit: str, reference: float | None = None) -> go.Figure:
    """Trials over the cost of the search; a step line is the best so far. Pruned trials are crosses at the rate that
    they had reached, failed ones at the bottom. `reference` is a rate to compare with, such as the naive start's."""
    measured = [trial for trial in tried if trial.point.values]
    if not measured:
        return theme.nothing_yet(NOTHING, HEIGHT)
    last = max(trial.cost for trial in tried)
    factor, axis = (60.0, "minutes of measuring") if last >= WIDE else (1.0, "seconds of measuring")
    so_far = list(accumulate((trial.point.value or 0.0 for trial in measured), max))
    steps = [trial.cost / factor for trial in measured]
    traces = [
        marks.line(
            [*steps, last / factor],
            [*so_far, so_far[-1]],
            BEST,
            f"best so far: %{{y:,.7~r}} {unit}<extra></extra>",
            line={"shape": "hv"},
            name=f"best so far: <b>{quantity(so_far[-1])}</b>",
        ),
    ]
    looks = {"trial": ("circle", theme.ACCENT), PRUNED: ("x", theme.MUTED), FAILED: ("x-thin", theme.ALARM)}
    for name, (symbol, colour) in looks.items():
        marked = [trial for trial in tried if name == ("trial" if trial.point.values else trial.point.state)]
        if marked:
            traces.append(
                marks.points(
                    [trial.cost / factor for trial in marked],
                    [_level(trial) for trial in marked],
                    colour,
                    [f"{trial.point.words(unit)}<br>after {duration(trial.cost)}" for trial in marked],
                    marker={"symbol": symbol, "line": {"width": 2, "color": colour}},
                    name=f"{name} ({len(marked)})",
                    customdata=[tried.index(trial) for trial in marked],
                    **CHOSEN,
                )
            )
    highest = max([*map(_level, tried), reference or 0.0])
    if reference:
        name = f"naive start: {quantity(reference)}"
        x, y = [0, last / factor], [reference, reference]
        traces.append(marks.line(x, y, theme.MUTED, "", line=theme.IDEAL, name=name))
    return theme.figure(
        traces,
        height=HEIGHT,
        showlegend=True,
        hovermode="closest",
        xaxis={"title": {"text": axis}, "range": [0, 1.04 * last / factor], "nticks": 8},
        yaxis=marks.values_axis(unit, highest, range=[-0.03 * highest, 1.1 * highest]),
        margin={"t": 56},
    )


def _level(trial: Tried) -> float:
    """The measured rate of a trial, or the rate at which it was pruned; 0 for a failed trial."""
    return trial.point.value or (trial.point.reached if trial.point.state == PRUNED else None) or 0.0


ABOUT = "Each mark is a trial, at the time that all trials up to it had taken."
ENDED_EARLY = "Grey crosses were ended early, at the rate that they had reached: they could no longer win."
LAUNCHER = "The same without a session, as the MPI's own launcher takes it:"


def cards(report: TuneReport) -> list[Card]:
    ended = [trial for trial in report.trials if status(trial, report.runs) in RESULTS]
    by_cell = {cell_key(cell.label, cell.point): cell for cell in report.cells}
    picks = [pick(by_cell[cell_key(trial.label, trial.point)], report.unit) for trial in ended]
    naive = report.naive.median if report.naive is not None else None
    search_figure = search(tried(report, ended), report.unit, naive)
    caption = ABOUT + (f" {ENDED_EARLY}" if any(trial.pruned for trial in ended) else "")
    names = {id(report.naive): " (naive start)", id(report.usual): " (default)"}
    named = [replace(cell, label=f"{cell.label}{names.get(id(cell), '')}") for cell in report.cells]
    rows = cells_table(named, report.unit, [])
    return [
        verdict(report),
        *_pick(report),
        Card("search", "The search", (figure(search_figure, picks=picks), about(caption))),
        Card("cells", f"What was tried ({len(report.cells)})", tuple(rows)),
        runs_card(report),
    ]


def tried(report: TuneReport, ended: list[Trial]) -> list[Tried]:
    """The ended trials, each with the cost of the search up to it."""
    cost, marks = 0.0, []
    for trial in ended:
        cost += spent([trial], report.runs)
        (cell,) = results([trial], report.runs, report.tune_study.rate)
        marks.append(Tried(point(cell), cost))
    return marks


def _pick(report: TuneReport) -> list[Card]:
    """The best, with a command for real runs: trials are shorter than those."""
    parts: list[Part] = []
    if report.command:
        parts.append(code(report.command))
    if report.mpirun:
        parts += [about(LAUNCHER), code(report.mpirun)]
    return best_card(report.best, report.unit, parts, "Its pick")
