"""Scaling studies as a kind of study: the limit of scaling as verdict, why and next, and the report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from workshop.core import words
from workshop.report.analysis.balance import PHASES
from workshop.store.records import StudyRecord
from workshop.store.store import Store
from workshop.study.grid.kind import cautions, too_little
from workshop.study.kinds import Kind, Report, read
from workshop.study.results import results
from workshop.study.scaling import plan
from workshop.study.scaling.efficiency import Row, compared, references, row, serial_share

Limit = Literal["compute", "communication", "oversubscription", "stragglers", "input", "noise", "unknown"]
NEAR = 0.85  # efficiency from which scaling is close to the ideal
ABOVE = 1.05  # efficiency from which it is above the ideal, and wants a word

SPENT = {"compute": "computing", "communicate": "moving data", "wait": "waiting", "input": "reading input"}
LIMITS: Mapping[str, Limit] = {"communicate": "communication", "wait": "stragglers", "input": "input"}
# Verdict, why and next of a row by its limit; `_facts` has what stands in braces.
TEXTS: Mapping[str, tuple[str, str, str]] = {
    "ideal": ("{Close} the ideal: {gain}.", "Computing is the limit, as it should be. {spent}{above}", "{further}"),
    "communication": (
        "Communication limits: {gain}.",
        "{spent}{lost}",
        "Give each rank more to do between two exchanges, by a larger batch{weaker}; or compare ways to exchange, "
        "where the workload has several.",
    ),
    "oversubscription": (
        "Oversubscribed: {who}{on_cores} are {gained:.2f}× as fast as {base}.",
        "Ranks that share a core take turns, and each exchange waits for the one whose turn came last.",
        "{fitting}",
    ),
    "stragglers": (
        "{late}: {gain}.",
        "{spent}{lost} {waited}",
        "Look at run {run}, and measure again while nobody else's run is under way: other programs on this machine "
        "take turns with the ranks on the cores. Bound ranks keep their place (--bind-to core).",
    ),
    "input": (
        "Input limits: {gain}.",
        "{spent}{lost}",
        "Keep the data in memory, make it smaller or read ahead: more ranks read through the same disk and memory.",
    ),
    "compute": (
        "Computing itself gets slower: {gain}.",
        "{spent} On the same amount of work a rank computes {longer:.2f} times as long as with {base}: ranks share the "
        "memory, the caches and the clock with each other and with whatever else works here.",
        "Try a smaller model or batch, which fits the caches{weaker}: does computing still get slower?",
    ),
    "noise": (
        "Too noisy to tell: the repeats of a placement differ more than {base} and {who} do.",
        "{base} reached {base_span}, {who} {span}: that fits no speed-up as well as an ideal one.",
        "Measure longer runs and more of them (--repeats), while nobody else's run is under way.",
    ),
    "unknown": (
        "Below the ideal: {gain}.",
        "The runs did not tell how their ranks spent the time, so the limit can't be named.",
        'Have the workload enclose its work in ctx.phase("compute") and ctx.phase("communicate").',
    ),
}


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
    if len(measured) < 2:
        return "unknown", too_little(cells, [row.cell for row in measured], unit, finished)
    others = measured[1:]
    near = [row for row in others if limit_of(row) == "compute" and (row.efficiency or 0.0) >= NEAR]
    row = next((row for row in others if row not in near), others[-1])
    limit, last = limit_of(row), others[-1]
    verdict, why, following = _texts("ideal" if row in near else limit, row, weak)
    work = "On work that grew with them" if weak else "On the same work"
    whys = [
        f"{work}, {_who(row)} have {row.speed_up or 0.0:.2f} times the throughput of {_who(row.base or row)}, which is "
        f"{words.percent(row.efficiency or 0.0)} of the ideal.",
        why,
    ]
    if row not in near:
        if before := [other for other in near if other.ranks < row.ranks]:
            whys.insert(0, f"Up to {_who(before[-1])} it is {_close(before[-1])} the ideal: {_gain(before[-1])}.")
        if last is not row and last not in near and limit_of(last) not in (limit, "noise", "unknown"):
            whys.append(f"Then, with {words.count(last.ranks, 'rank')}: {_texts(limit_of(last), last, weak)[1]}")
    return limit, {
        "verdict": verdict,
        "why": " ".join([*whys, *cautions(cells, [row.cell for row in measured])]),
        "next": following,
    }


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


def _texts(limit: str, row: Row, weak: bool) -> list[str]:
    return [" ".join(text.format(**_facts(limit, row, weak)).split()) for text in TEXTS[limit]]


def _facts(limit: str, row: Row, weak: bool) -> dict[str, Any]:
    """What `TEXTS` say of a row."""
    base, fitting, efficiency = row.base or row, max(row.cores // row.threads, 1), row.efficiency or 1.0
    late, several = words.capital(words.numbered("rank", row.late)) if row.late else "", len(row.late) > 1
    each = "" if row.threads == 1 else f" of {words.count(row.threads, 'thread')}; or try one each (--threads 1)"
    crowded = row.ranks * row.threads > row.cores
    facts = {
        "Close": words.capital(_close(row)),
        "above": " Above the ideal, a smaller share fits the caches better, or something else held back " + _who(base)
        if efficiency > ABOVE
        else "",
        "further": f"There are cores for {words.ranks(fitting)}: how far does it go?"
        if fitting > row.ranks
        else "Every core is at work. Predict what more ranks than cores do, and what "
        f"{'the same work for all numbers of ranks' if weak else 'work that grows with the ranks (--weak)'} changes.",
        "gain": _gain(row),
        "gained": row.speed_up or 0.0,
        "who": _who(row),
        "base": _who(base),
        "base_span": _span(base),
        "span": _span(row),
        "weaker": "" if weak else " or work that grows with the ranks (--weak)",
        "on_cores": f" on {words.count(row.cores, 'core')}" if row.cores and crowded else "",
        "fitting": f"This machine has cores for {words.ranks(fitting)}{each}."
        if crowded
        else "There are cores for all of them: try to bind them (--map-by core --bind-to core).",
        "late": f"{late} {'hold' if several else 'holds'} up the others" if late else "Waiting limits",
        "waited": row.waited or "Which rank came last, the runs do not tell.",
        "run": row.cell.run,
        "spent": "",
        "lost": "",
        "longer": 0.0,
    }
    if row.shares:
        shares = [
            f"{SPENT[phase]} {words.percent(row.shares[phase])}" for phase in PHASES if row.shares[phase] >= 0.005
        ]
        lost, phase = _lost(row), next((phase for phase in LIMITS if LIMITS[phase] == limit), "compute")
        part = words.percent(max(lost[phase], 0.0) / (sum(max(value, 0.0) for value in lost.values()) or 1.0))
        facts["spent"] = f"Of the time of {_who(row)}, {words.listed(shares)}."
        facts["lost"] = f" {words.capital(SPENT[phase])} is {part} of what is lost."
        facts["longer"] = row.shares["compute"] / efficiency / (base.shares.get("compute") or 1.0)
    return facts


def _who(row: Row) -> str:
    threads = "" if row.threads == 1 else f" × {words.count(row.threads, 'thread')}"
    return f"{words.count(row.ranks, 'rank')}{threads}"


def _gain(row: Row) -> str:
    """1.89x on 2 ranks; 1.9x from 2 to 4 ranks where one rank was not measured."""
    start = row.base.ranks if row.base else 1
    return f"{row.speed_up or 0.0:.2f}× {'on' if start == 1 else f'from {start} to'} {_who(row)}"


def _close(row: Row) -> str:
    return "above" if (row.efficiency or 0.0) > ABOVE else "close to"


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
