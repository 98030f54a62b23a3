"""Cards of a grid: a figure of one axis, two axes, or the two most important ones; the best cell; all cells."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import plotly.graph_objects as go

from workshop.core import words
from workshop.mpi.implementations import IMPLEMENTATIONS
from workshop.report.cards import Card, Part, about, code, figure, table
from workshop.report.figures.bars import grouped, settings
from workshop.report.figures.heatmap import heatmap, legend
from workshop.report.figures.line import line as drawn_line
from workshop.report.figures.marks import Point
from workshop.study.cards import (
    axis_words,
    best_card,
    cells_table,
    pick,
    point,
    rate_words,
    runs_card,
    setting_words,
    value_words,
    verdict,
)
from workshop.study.grid.kind import GridReport
from workshop.study.results import CellResult, best, cell_effects, noise

CELL = 76  # pixels of a heat map's column whose words can be read
PHONE = 600  # pixels up to which a phone shows it, a little smaller
HEAD = 120  # pixels of its rows' names
MPI = "mpi"


def cards(report: GridReport) -> list[Card]:
    unit, cells = report.unit, report.rows
    axes = varying(cells)
    title = words.capital(" against ".join(map(axis_words, axes))) if len(axes) < 3 else "The two that mattered most"
    return [
        verdict(report),
        *executive_summary(report),
        *[Card("grid", title, parts) for parts in [picture(cells, axes, unit)] if parts],
        *best_card(report.best, unit, [code(report.command)] if report.command else []),
        *mattered(cells),
        Card("cells", f"All cells ({len(cells)})", tuple(cells_table(cells, unit, axes))),
        runs_card(report),
    ]


def executive_summary(report: GridReport) -> list[Card]:
    """A row for each cell: the settings that the study names, its median, and that divided by the first cell's."""
    names, rows = report.study.description.get("summary", []), []
    for cell in report.rows if names else []:
        base, chosen = report.rows[0].median, [value_words(cell.params.get(name)) for name in names]
        ratio = words.times(cell.median / base) if cell.median and base else "–"
        rows.append([cell.label, *chosen, rate_words(cell.median), ratio])
    heads = ["Environment", *map(words.capital, names), f"Median {report.unit}", "Against the first"]
    return [Card("summary", "Executive summary", (table(heads, rows),))] if rows else []


def varying(cells: Sequence[CellResult]) -> list[str]:
    """The axes along which the cells differ, in their order."""
    names = dict.fromkeys(name for cell in cells for name in cell.point)
    return [name for name in names if len({_key(cell.point.get(name)) for cell in cells}) > 1]


def picture(cells: Sequence[CellResult], axes: Sequence[str], unit: str) -> tuple[Part, ...]:
    """The figure for this number of axes, with its clickable marks; nothing if all cells are equal."""
    if not axes:
        return ()
    if len(axes) == 1:
        return _one_axis(cells, axes[0], unit)
    if len(axes) == 2:
        first, second = axes
        if MPI in axes:
            return _by_mpi(cells, second if first == MPI else first, unit)
        return _two_axes(cells, axes, unit)
    ordered = [effect.axis for effect in cell_effects(cells)] or list(axes)
    first, second = sorted((ordered + [axis for axis in axes if axis not in ordered])[:2], key=list(axes).index)
    heatmap_parts = _two_axes(_best_by(cells, (first, second)), (first, second), unit)
    others = words.listed(axis_words(axis) for axis in axes if axis not in (first, second))
    return (about(f"The two settings that mattered most; each cell is the best over {others}."), *heatmap_parts)


def _one_axis(cells: Sequence[CellResult], axis: str, unit: str) -> tuple[Part, ...]:
    values = [cell.point.get(axis) for cell in cells]
    picks = [pick(cell, unit) for cell in cells]
    if all(isinstance(value, int | float) and not isinstance(value, bool) for value in map(_number, values)):
        order = sorted(range(len(cells)), key=lambda at: _number(values[at]))
        along = [_number(values[at]) for at in order]
        chart = drawn_line(along, {"": [point(cells[at]) for at in order]}, axis_words(axis), unit)
        return (figure(chart, picks=[picks[at] for at in order]),)
    names = [
        IMPLEMENTATIONS[str(value)].title if axis == MPI else f"{axis_words(axis)} {setting_words(axis, value)}"
        for value in values
    ]
    base = next((name for name, value in zip(names, values, strict=True) if value is None), names[0])
    bars = settings([point(cell, name) for cell, name in zip(cells, names, strict=True)], unit, base)
    return (figure(bars, picks=picks),)


def _by_mpi(cells: Sequence[CellResult], other: str, unit: str) -> tuple[Part, ...]:
    """Bars of each MPI beside each other, for every value of the other setting."""
    values, mpis = _values(cells, other), _values(cells, MPI)
    groups: dict[str, list[Point]] = {}
    picks = []
    for mpi in mpis:
        cells_by_value = {_key(cell.point.get(other)): cell for cell in cells if cell.point.get(MPI) == mpi}
        row_cells = [cells_by_value.get(_key(value)) for value in values]
        groups[IMPLEMENTATIONS[mpi].title] = [point(cell) if cell else Point("", state="") for cell in row_cells]
        picks += [pick(cell, unit) if cell else {} for cell in row_cells]
    chart = grouped([setting_words(other, value) for value in values], groups, axis_words(other), unit)
    return (figure(chart, picks=picks),)


def _two_axes(cells: Sequence[CellResult], axes: Sequence[str], unit: str) -> tuple[Part, ...]:
    across, down = _values(cells, axes[0]), _values(cells, axes[1])
    if len(across) < len(down) and len(down) > 4:  # the longer one across, where screens are longer
        axes, across, down = (axes[1], axes[0]), down, across
    columns = [setting_words(axes[0], value) for value in across]
    rows = [setting_words(axes[1], value) for value in down]
    points = {
        (setting_words(axes[0], cell.point.get(axes[0])), setting_words(axes[1], cell.point.get(axes[1]))): point(cell)
        for cell in cells
    }
    chart: go.Figure = heatmap(columns, rows, points, (axis_words(axes[0]), axis_words(axes[1])), unit)
    wide = HEAD + CELL * len(across)
    picks = [pick(cell, unit) for cell in cells]
    return (figure(chart, wide if wide > PHONE else 0, picks), about(legend(points)))


def _best_by(cells: Sequence[CellResult], axes: Sequence[str]) -> list[CellResult]:
    """The best cell for each pair of values; the first cell of a pair that was not measured."""
    groups: dict[tuple[str, ...], list[CellResult]] = {}
    for cell in cells:
        groups.setdefault(tuple(_key(cell.point.get(axis)) for axis in axes), []).append(cell)
    return [best(group) or group[0] for group in groups.values()]


def mattered(cells: Sequence[CellResult]) -> list[Card]:
    """How much each of several settings did."""
    axis_effects = cell_effects(cells)
    if len(varying(cells)) < 2 or not axis_effects:
        return []
    rows, usual = [], noise(cells)
    for effect in axis_effects:
        did = ["–", "–", "can't tell"]
        if effect.exceeds(usual):
            ends = [setting_words(effect.axis, value) for value in (effect.best, effect.worst)]
            did = [*ends, f"{effect.factor:.2f}×"]
        rows.append([axis_words(effect.axis), *did])
    heads = ["Setting", "Best value", "Worst value", "Between them"]
    caption = about("Means over cells that differ in nothing else.")
    return [Card("effects", "What mattered", (caption, table(heads, rows)))]


def _values(cells: Sequence[CellResult], axis: str) -> list[Any]:
    """The values of an axis: numbers ascending, other values in order of appearance."""
    values = list({_key(cell.point.get(axis)): cell.point.get(axis) for cell in cells}.values())
    numeric = all(isinstance(_number(value), int | float) for value in values)
    return sorted(values, key=_number) if numeric else values


def _number(value: Any) -> Any:
    """A variable's value that is a number as one; anything else as it is."""
    if isinstance(value, str):
        try:
            return float(value) if "." in value else int(value)
        except ValueError:
            return value
    return value


def _key(value: Any) -> str:
    return json.dumps(value)
