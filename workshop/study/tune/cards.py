"""Cards of a tuning study: its pick and how to run it, what the search has cost and found, what it tried."""

from __future__ import annotations

from workshop.report.cards import Card, Part, code, figure
from workshop.store.records import Trial
from workshop.study.cards import about, best_card, cells_table, pick, point, runs_card, verdict
from workshop.study.results import cell_key, results
from workshop.study.trials import RESULTS, status
from workshop.study.tune.costs import spent
from workshop.study.tune.figures import Tried, search
from workshop.study.tune.report import TuneReport

ABOUT = "Each mark is a trial, at the time that all trials up to it had taken."
PRUNED = "Grey crosses were ended early, at the rate that they had reached: they could no longer win."
LAUNCHER = "The same without a session, as the MPI's own launcher takes it:"


def cards(report: TuneReport) -> list[Card]:
    ended = [trial for trial in report.trials if status(trial, report.runs) in RESULTS]
    by_cell = {cell_key(cell.label, cell.point): cell for cell in report.cells}
    picks = [pick(by_cell[cell_key(trial.label, trial.point)], report.unit) for trial in ended]
    naive = report.naive.median if report.naive is not None else None
    drawn = search(tried(report, ended), report.unit, naive)
    said = ABOUT + (f" {PRUNED}" if any(trial.pruned for trial in ended) else "")
    rows = cells_table(report.cells, report.unit, [])
    return [
        verdict(report),
        *_pick(report),
        Card("search", "The search", (figure(drawn, picks=picks), about(said))),
        Card("cells", f"What was tried ({len(report.cells)})", tuple(rows)),
        runs_card(report),
    ]


def tried(report: TuneReport, ended: list[Trial]) -> list[Tried]:
    """The trials that have led to something, with what the search had cost by then."""
    cost, found = 0.0, []
    for trial in ended:
        cost += spent([trial], report.runs)
        (one,) = results([trial], report.runs, report.asked.rate)
        found.append(Tried(point(one), cost))
    return found


def _pick(report: TuneReport) -> list[Card]:
    """The best, with a command for real runs: trials are shorter than those."""
    parts: list[Part] = []
    if report.command:
        parts.append(code(report.command))
    if report.mpirun:
        parts += [about(LAUNCHER), code(report.mpirun)]
    return best_card(report.best, report.unit, parts, "Its pick")
