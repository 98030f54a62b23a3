"""What a study's page and its export show: cards, made by one function for each kind of study, and what these have in
common: verdict, points and picks of cells, commands, tables.

A study of a kind that brings no cards is shown with its trials.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from workshop.core import words as say
from workshop.core.errors import BadInput
from workshop.core.forms import named
from workshop.core.placement import Placement
from workshop.extension import load
from workshop.registry import studies, workloads
from workshop.report import cards as parts
from workshop.report.cards import Card, Part, line, link, table, words
from workshop.report.command_line import run_command
from workshop.report.figures.curves import number
from workshop.report.figures.points import Point
from workshop.report.sentences import changed
from workshop.store.records import RunRecord, StudyRecord, Trial
from workshop.store.store import Store
from workshop.study.kinds import Report
from workshop.study.report import trial_json
from workshop.study.results import CellResult, failure

MOST = 300  # rows of a table
Cell = str | Mapping[str, Any]


def cards(report: Report) -> list[Card]:
    """All cards of a study, of any kind and at any point of its progress. The names of a study's cards are unique."""
    known = studies().get(report.study.kind)
    return load(known.cards)(report) if known is not None and known.cards else [verdict(report), runs_card(report)]


def visible(store: Store, identity: int, report: Report, shown: list[Card]) -> tuple[list[Card], str]:
    """The cards that a learner may see, and why others are left out; "" where none are."""
    known = studies().get(report.study.kind)
    if known is None or not known.visible:
        return shown, ""
    mine = load(known.visible)(store, identity, report, shown)
    return mine, known.hidden if len(mine) < len(shown) else ""


def settings(study: StudyRecord) -> str:
    """The settings that all trials have, as far as they aren't defaults, and the threads of a rank where these are the
    same for all."""
    params, placement = study.description.get("params"), study.description.get("placement") or {}
    told = changed(study.workload, params) if isinstance(params, dict) else []
    if "threads" in placement and "cores_per_rank" in placement:
        told.append(f"{say.count(placement['threads'] or placement['cores_per_rank'], 'thread')} per rank")
    return ", ".join(told)


def verdict(report: Report) -> Card:
    """The card with verdict, why and next. Where nobody works on the study, next is the command that resumes it."""
    said, study = report.verdict, report.study
    ahead = f"Go on with it: workshop study resume {study.id}" if study.state == "interrupted" else said["next"]
    lines = (line("Verdict" if study.finished_at else "So far", tone="label"), line(said["verdict"], tone="heading"))
    return Card("verdict", "", (words(*lines, line(said["why"], "Why"), line(ahead, "Next")),), tone="verdict")


def about(text: str) -> Part:
    return words(line(text, tone="about"))


def rate_words(value: float | None, unit: str = "") -> str:
    """A rate as tables have it: four digits, thousands apart; a dash for none."""
    if value is None:
        return "–"
    told = say.thousands(round(value)) if 1e3 <= value < 1e6 else number(value)
    return f"{told} {unit}".strip()


def point(cell: CellResult, name: str = "") -> Point:
    """A cell for a figure."""
    return Point(name or cell.label, cell.rates, cell.status, cell.why, cell.pruned_at)


def pick(cell: CellResult, unit: str) -> Part:
    """What a cell's mark stands for; its run in the middle comes first."""
    if cell.rates:
        spread = f", {rate_words(cell.low)} to {rate_words(cell.high)}" if len(cell.rates) > 1 else ""
        text = f"{rate_words(cell.median, unit)} in {say.count(len(cell.rates), 'run')}{spread}."
    else:
        text = f"{cell.status.capitalize()}{f': {cell.why}' if cell.why else '.'}"
    first = [cell.run] if cell.run is not None else []
    others = [run for run in (*cell.runs, *cell.pruned_runs) if run not in first]
    return parts.pick(cell.label, text, [*first, *others])


def command(workload: str, params: Mapping[str, Any], placement: Mapping[str, Any]) -> str | None:
    """The command line that runs a cell once more; None where this program doesn't know its workload any more."""
    known = workloads().get(workload)
    if known is None:
        return None
    try:
        return run_command(known, named(known.params, params), Placement.parse(placement))
    except BadInput:
        return None


def best_card(cell: CellResult | None, unit: str, commands: Sequence[Part], title: str = "The best") -> list[Card]:
    """The best cell, and how to run it."""
    if cell is None:
        return []
    return [Card("best", title, (words(line(pick(cell, unit)["text"], f"{say.capital(cell.label)}:")), *commands))]


def runs_cell(runs: Sequence[int]) -> Cell:
    return {"links": [link(f"/run?run={run}", str(run)) for run in runs]} if runs else "–"


def cells_table(cells: Sequence[CellResult], unit: str, axes: Sequence[str]) -> list[Part]:
    """A row for each cell, the fastest first, with what it was set to, its median and its repeats' range."""
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
                say.percent(median / top) if median is not None and top else "–",
                runs_cell([*cell.runs, *cell.pruned_runs]),
                *([cell.why] if failing else []),
            ]
        )
    return [table(headings, rows), *_and_more(len(cells))]


def runs_card(report: Report) -> Card:
    """Every trial in its order, with its run."""
    whys = [why_not(trial, report.runs) for trial in report.trials]
    last = ["Why not"] if any(whys) else []
    headings = ["Run", "Setting", "Round", "Status", *([say.capital(report.unit)] if report.rate else []), *last]
    rows: list[list[Cell]] = []
    for trial, why in zip(report.trials[:MOST], whys, strict=False):
        told = trial_json(trial, report.runs, report.rate)
        value = [rate_words(told["rate"]) if isinstance(told["rate"], int | float) else ""] if report.rate else []
        run = runs_cell([trial.run_id]) if trial.run_id else "–"
        rows.append([run, trial.label, str(trial.repeat), told["status"], *value, *([why] if last else [])])
    return Card("runs", f"Runs ({len(report.trials)})", (table(headings, rows), *_and_more(len(report.trials))))


def why_not(trial: Trial, runs: Mapping[int, RunRecord]) -> str:
    """Why a trial failed or was pruned; empty for all others."""
    if trial.pruned is not None and trial.error is None:
        return str(trial.pruned.get("why", ""))
    run = runs.get(trial.run_id or 0)
    error = trial.error or (run.error if run is not None else None)
    return failure(trial, run) if error else ""


def value_words(value: Any) -> str:
    """A setting's value in a table."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return (
        "–" if value is None else "(empty)" if value == "" else f"{value:g}" if isinstance(value, float) else str(value)
    )


def setting_words(axis: str, value: Any) -> str:
    """A setting's value where it stands below its axis: a variable may also be unset."""
    return "unset" if value is None and axis.startswith("env.") else value_words(value)


def axis_words(axis: str) -> str:
    """The name of an axis as figures have it."""
    return "MPI" if axis == "mpi" else axis.removeprefix("env.").removeprefix("params.")


def _and_more(count: int) -> list[Part]:
    return (
        [about(f"… and {count - MOST} more: workshop study export STUDY --csv FILE has all.")] if count > MOST else []
    )
