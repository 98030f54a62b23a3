"""Cards of a study, for its page and its export, and their common parts: verdict, points, cells, commands, tables.

Each kind of study has a function that returns its cards. A kind without one gets a table of its trials.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from workshop.core import words
from workshop.extension import load
from workshop.report import cards as parts
from workshop.report.actions import without_options
from workshop.report.cards import Card, Part, about, line, link, paragraph, table
from workshop.report.figures.marks import Point
from workshop.report.sentences import changed
from workshop.store.records import StudyRecord
from workshop.study.kinds import Report, any_kind, trial_json
from workshop.study.results import CellResult, reason

MOST = 300  # rows of a table
NEXT = {"interrupted": "Resume it: some of its runs are missing.", "prepared": "Start it: it has no run yet."}
Cell = str | Mapping[str, Any]


def cards(report: Report) -> list[Card]:
    """All cards of a study of any kind, at any point of its progress. Their names are unique."""
    reference = any_kind(report.study.kind).cards
    return load(reference)(report) if reference else [verdict(report), runs_card(report)]


def settings(study: StudyRecord) -> str:
    """The settings that all trials share and that differ from the defaults, with the threads per rank."""
    params, placement = study.description.get("params"), study.description.get("placement") or {}
    texts = changed(study.workload, params) if isinstance(params, dict) else []
    if "threads" in placement and "cores_per_rank" in placement:
        texts.append(f"{words.count(placement['threads'] or placement['cores_per_rank'], 'thread')} per rank")
    return ", ".join(texts)


def verdict(report: Report) -> Card:
    """The card with verdict, why and next. For a study on which nobody works, next is to run it."""
    texts, study = {name: without_options(text) for name, text in report.verdict.items()}, report.study
    if study.state in NEXT:
        texts["next"] = NEXT[study.state]
    return parts.verdict(texts, "Verdict" if study.finished_at else "So far")


def rate_words(value: float | None, unit: str = "") -> str:
    """A rate in a table, or a dash."""
    return "–" if value is None else words.quantity(value, unit)


def point(cell: CellResult, name: str = "") -> Point:
    """A cell for a figure."""
    return Point(name or cell.label, cell.rates, cell.status, cell.why, cell.pruned_at)


def pick(cell: CellResult, unit: str) -> Part:
    """The text and the runs of a cell's mark in a figure. The median run comes first."""
    if cell.rates:
        spread = f", {rate_words(cell.low)} to {rate_words(cell.high)}" if len(cell.rates) > 1 else ""
        text = f"{rate_words(cell.median, unit)} in {words.count(len(cell.rates), 'run')}{spread}."
    else:
        text = f"{cell.status.capitalize()}{f': {cell.why}' if cell.why else '.'}"
    first = [cell.run] if cell.run is not None else []
    others = [run for run in (*cell.runs, *cell.pruned_runs) if run not in first]
    return parts.pick(cell.label, text, [*first, *others])


def best_card(cell: CellResult | None, unit: str, commands: Sequence[Part], title: str = "The best") -> list[Card]:
    """The best cell, and how to run it."""
    if cell is None:
        return []
    return [
        Card("best", title, (paragraph(line(pick(cell, unit)["text"], f"{words.capital(cell.label)}:")), *commands))
    ]


def runs_cell(runs: Sequence[int]) -> Cell:
    return {"links": [link(f"run?run={run}", str(run)) for run in runs]} if runs else "–"


def cells_table(cells: Sequence[CellResult], unit: str, axes: Sequence[str]) -> list[Part]:
    """A row for each cell, the fastest first: its settings, its median and the range of its repeats."""
    ordered = sorted(cells, key=lambda cell: -(cell.median or cell.pruned_at or 0.0) + (0 if cell.rates else 1e18))
    top = ordered[0].median if ordered and ordered[0].rates else None
    failing = any(cell.why for cell in cells)
    headings = [
        *(map(axis_words, axes) if axes else ["Cell"]),
        f"Median {unit}",
        "Lowest to highest",
        "Of the best",
        "Runs",
        *(["Why not"] if failing else []),
    ]
    rows: list[list[Cell]] = []
    for cell in ordered[:MOST]:
        median, several = cell.median, len(cell.rates) > 1
        reached = f"{cell.status}" + ("" if cell.pruned_at is None else f" at {rate_words(cell.pruned_at)}")
        rows.append(
            [
                *([setting_words(axis, cell.point.get(axis)) for axis in axes] or [cell.label]),
                rate_words(median) if median is not None else reached,
                f"{rate_words(cell.low)} to {rate_words(cell.high)}" if several else "–",
                words.percent(median / top) if median is not None and top else "–",
                runs_cell([*cell.runs, *cell.pruned_runs]),
                *([cell.why] if failing else []),
            ]
        )
    return [table(headings, rows), *_and_more(len(cells))]


def runs_card(report: Report) -> Card:
    """Every trial in its order, with its run."""
    whys = [reason(trial, report.runs) for trial in report.trials]
    last = ["Why not"] if any(whys) else []
    headings = ["Run", "Setting", "Round", "Status", *([words.capital(report.unit)] if report.rate else []), *last]
    rows: list[list[Cell]] = []
    for trial, why in zip(report.trials[:MOST], whys, strict=False):
        row = trial_json(trial, report.runs, report.rate)
        value = [rate_words(row["rate"]) if isinstance(row["rate"], int | float) else ""] if report.rate else []
        run = runs_cell([trial.run_id]) if trial.run_id else "–"
        rows.append([run, trial.label, str(trial.repeat), row["status"], *value, *([why] if last else [])])
    return Card("runs", f"Runs ({len(report.trials)})", (table(headings, rows), *_and_more(len(report.trials))))


def value_words(value: Any) -> str:
    """A setting's value in a table."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return (
        "–" if value is None else "(empty)" if value == "" else f"{value:g}" if isinstance(value, float) else str(value)
    )


def setting_words(axis: str, value: Any) -> str:
    """A value of an axis in a table. A variable may also be unset."""
    return "unset" if value is None and axis.startswith("env.") else value_words(value)


def axis_words(axis: str) -> str:
    """The name of an axis as figures have it."""
    return "MPI" if axis == "mpi" else axis.removeprefix("env.").removeprefix("params.")


def _and_more(count: int) -> list[Part]:
    return (
        [about(f"… and {count - MOST} more: workshop study export STUDY --csv FILE has all.")] if count > MOST else []
    )
