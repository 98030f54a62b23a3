"""Scaling studies as a kind of study: the limit of scaling as verdict, why and next, and the report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from workshop.core import words
from workshop.report.analysis.balance import PHASES
from workshop.store.records import StudyRecord
from workshop.store.store import Store
from workshop.study import verdicts
from workshop.study.kinds import Kind, Report, read
from workshop.study.results import results
from workshop.study.scaling import plan
from workshop.study.scaling.efficiency import Row, compared, references, row, serial_share

Limit = Literal["compute", "communication", "oversubscription", "stragglers", "input", "noise", "unknown"]
NEAR = 0.85  # efficiency from which scaling is close to the ideal
ABOVE = 1.05  # efficiency from which it is above the ideal, and wants a word

SPENT = {"compute": "computing", "communicate": "moving data", "wait": "waiting", "input": "reading input"}
LIMITS: Mapping[str, Limit] = {"communicate": "communication", "wait": "stragglers", "input": "input"}


def scaling_verdict(
    rows: Sequence[Row], weak: bool, unit: str = "", finished: bool = True
) -> tuple[Limit, dict[str, str]]:
    """The limit as a word for programs, and `verdict`, `why` and `next` for people; also of an unfinished study.

    It describes the first number of ranks below the ideal, and the last one if that has another limit. The cost of a
    rank is the time that it spends on a unit of work, n / X(n), and the smallest number of ranks sets the expected
    cost. Any additional cost is a loss; the phase whose share has grown most is the limit. Two checks come first: ranks
    without a core each are oversubscribed, and differences within the repeats of one placement mean nothing.
    """
    measured, cells = [row for row in rows if row.cell.rates], [row.cell for row in rows]
    named = verdicts.facts(cells, unit, finished)
    if len(measured) < 2:
        return "unknown", verdicts.verdict(plan.KIND, named)
    others = measured[1:]
    near = [row for row in others if limit_of(row) == "compute" and (row.efficiency or 0.0) >= NEAR]
    row, last = next((row for row in others if row not in near), others[-1]), others[-1]
    limit = limit_of(row)
    named |= _facts("ideal" if row in near else limit, row, weak)
    if row not in near:
        if before := [_facts("ideal", other, weak) for other in near if other.ranks < row.ranks]:
            named["before"] = before[-1]
        if last is not row and last not in near and limit_of(last) not in (limit, "noise", "unknown"):
            named |= {"then": verdicts.reason(plan.KIND, _facts(limit_of(last), last, weak)), "then_ranks": last.ranks}
    return limit, verdicts.verdict(plan.KIND, named)


def limit_of(row: Row) -> Limit:
    """The limit of a measured row; "compute" also if there is no loss."""
    rates, base = row.cell.rates, (row.base or row).cell.rates
    overlapping = min(rates) <= max(base) and max(rates) >= min(base)
    if overlapping and (row.against(max(rates)) or 0.0) >= NEAR * row.ideal:
        return "noise"
    if (row.efficiency or 0.0) >= NEAR:
        return "compute"
    if row.crowds:
        return "oversubscription"
    if not row.shares:
        return "unknown"
    lost = _lost(row)
    return LIMITS.get(max(PHASES, key=lambda phase: lost[phase]), "compute")


def _lost(row: Row) -> dict[str, float]:
    """By phase, the additional time of a rank per unit of work, as a share of the initial cost."""
    start = (row.base.shares if row.base else {}) or {"compute": 1.0}
    return {phase: row.shares[phase] / (row.efficiency or 1.0) - start.get(phase, 0.0) for phase in PHASES}


def _facts(limit: str, row: Row, weak: bool) -> dict[str, Any]:
    """Facts of a row, by the names that rules use; `limit` is its limit, or "ideal"."""
    base, efficiency = row.base or row, row.efficiency or 1.0
    facts: dict[str, Any] = {
        "limit": limit,
        "weak": weak,
        "ranks": row.ranks,
        "threads": row.threads,
        "cores": row.cores,
        "fitting": max(row.cores // row.threads, 1),
        "crowded": row.ranks * row.threads > row.cores,
        "who": _who(row),
        "base": _who(base),
        "start": base.ranks,
        "speed_up": row.speed_up or 0.0,
        "efficiency": row.efficiency or 0.0,
        "above": efficiency > ABOVE,
        "span": _span(row),
        "base_span": _span(base),
        "late": row.late,
        "waited": row.waited,
        "run": row.cell.run,
    }
    if row.shares:
        lost, phase = _lost(row), next((phase for phase in LIMITS if LIMITS[phase] == limit), "compute")
        facts["spending"] = [
            f"{SPENT[phase]} {words.percent(row.shares[phase])}" for phase in PHASES if row.shares[phase] >= 0.005
        ]
        facts["phase"] = SPENT[phase]
        facts["part"] = max(lost[phase], 0.0) / (sum(max(value, 0.0) for value in lost.values()) or 1.0)
        facts["longer"] = row.shares["compute"] / efficiency / (base.shares.get("compute") or 1.0)
    return facts


def _who(row: Row) -> str:
    threads = "" if row.threads == 1 else f" × {words.count(row.threads, 'thread')}"
    return f"{words.count(row.ranks, 'rank')}{threads}"


def _span(row: Row) -> str:
    return f"{words.quantity(row.cell.low or 0.0)} to {words.quantity(row.cell.high or 0.0)}"


@dataclass(frozen=True)
class ScalingReport(Report):
    """A scaling study and its results."""

    rows: list[Row]
    limit: str

    @property
    def weak(self) -> bool:
        return bool(self.study.description["weak"])

    def findings(self) -> dict[str, Any]:
        described = {name: self.study.description[name] for name in ("weak", "unit", "params", "placement")}
        return described | {
            "rows": [row.as_json() for row in self.rows],
            "serial_share": serial_share(self.rows, self.weak),
            "limit": self.limit,
            "references": [asdict(reference) for reference in references(self.rows)],
        }


def title(study: StudyRecord) -> str:
    """A scaling study in a few words."""
    return f"{'weak' if study.description['weak'] else 'strong'} scaling of {study.workload}"


def scaling_report(store: Store, study: StudyRecord) -> ScalingReport:
    """The report on a scaling study."""
    trials, runs = read(store, study.id)
    cells = results(trials, runs, study.description["rate"])
    measured = [runs[run] for cell in cells for run in cell.runs]
    totals = {run.id: (run, {} if run.metrics.get("phases") else store.totals(run.id)) for run in measured}
    rows = compared(row(cell, totals) for cell in cells)
    limit, verdict = scaling_verdict(
        rows, study.description["weak"], study.description["unit"], study.finished_at is not None
    )
    return ScalingReport(study, trials, runs, verdict, rows, limit)


KIND = Kind(plan.KIND, title, scaling_report, cards="workshop.study.scaling.cards:cards")
