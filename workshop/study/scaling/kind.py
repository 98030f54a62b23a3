"""Scaling studies as a kind of study: the limit of scaling as verdict, why and next, and the report."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from workshop.core import words
from workshop.core.placement import Placement
from workshop.report.analysis.balance import PHASES
from workshop.report.analysis.findings import Finding
from workshop.store.records import StudyRecord
from workshop.store.store import Store
from workshop.study.kinds import Kind, Report, read
from workshop.study.results import failure
from workshop.study.scaling import plan
from workshop.study.scaling.efficiency import Measurement, PublishedSpeedUp, Row, measurement, references, rows

Limit = Literal["compute", "communication", "oversubscription", "stragglers", "input", "noise", "unknown"]
NEAR = 0.85  # efficiency from which scaling is close to the ideal
ABOVE = 1.05  # efficiency from which it is above the ideal, and wants a word

SPENT = {"compute": "computing", "communicate": "moving data", "wait": "waiting", "input": "reading input"}


def scaling_verdict(rows: Sequence[Row], weak: bool) -> tuple[Limit, dict[str, str]]:
    """The limit as a word for programs, and `verdict`, `why` and `next` for people; also of an unfinished study.

    It describes the first number of ranks below the ideal, and the last one if that has another limit. The cost of a
    rank is the time that it spends on a unit of work, n / X(n), and the smallest number of ranks sets the expected
    cost. Any additional cost is a loss; the phase whose share has grown most is the limit. Two checks come first: ranks
    without a core each are oversubscribed, and differences within the repeats of one placement mean nothing.
    """
    limit, finding = _judge(rows, weak)
    return limit, {"verdict": finding.verdict, "why": finding.why, "next": finding.following}


def _judge(rows: Sequence[Row], weak: bool) -> tuple[Limit, Finding]:
    measured = [row for row in rows if row.rates]
    if len(measured) < 2:
        return "unknown", _too_little(rows, measured)
    others = measured[1:]
    near = [row for row in others if _near(row)]
    short = next((row for row in others if not _near(row)), None)
    if short is None:
        finding = _ideal(others[-1], weak)
        return "compute", _with(finding, why=[finding.why, *_cautions(rows)])
    limit = limit_of(short)
    finding = _FINDINGS[limit](short, weak)
    before = [row for row in near if row.ranks < short.ranks]
    why = [_figures(short, weak), finding.why]
    if limit not in ("noise", "oversubscription") and not _differs(short):
        why.append(f"Beyond what repeats differ by, that is no faster than {_base(short)}.")
    last = others[-1]
    if last is not short and not _near(last) and limit_of(last) not in (limit, "noise", "unknown"):
        why.append(f"Then, with {words.count(last.ranks, 'rank')}: {_FINDINGS[limit_of(last)](last, weak).why}")
    if before:
        why.insert(0, f"Up to {_who(before[-1])} it is {_close(before[-1])} the ideal: {_gain(before[-1])}.")
    return limit, _with(finding, why=[*why, *_cautions(rows)])


def limit_of(row: Row) -> Limit:
    """The limit of a measured row; "compute" also if there is no loss."""
    if not _differs(row) and row.reach[1] >= NEAR * row.ideal:
        return "noise"
    if _efficiency(row) >= NEAR:
        return "compute"
    if row.crowds:
        return "oversubscription"
    if not row.shares:
        return "unknown"
    lost = _lost(row)
    grown = max(PHASES, key=lambda phase: lost[phase])
    limits: Mapping[str, Limit] = {"communicate": "communication", "wait": "stragglers", "input": "input"}
    return limits.get(grown, "compute")


def _near(row: Row) -> bool:
    return _efficiency(row) >= NEAR and limit_of(row) == "compute"


def _differs(row: Row) -> bool:
    """Whether the repeats of a row and those of its base don't overlap."""
    base = row.base or row
    return min(row.rates) > max(base.rates) or max(row.rates) < min(base.rates)


def _efficiency(row: Row) -> float:
    return row.efficiency or 0.0


def _lost(row: Row) -> dict[str, float]:
    """By phase, the additional time of a rank per unit of work, as a share of the initial cost."""
    start = (row.base.shares if row.base else {}) or {"compute": 1.0}
    return {phase: row.shares[phase] / _efficiency(row) - start.get(phase, 0.0) for phase in PHASES}


# The texts of each limit.


def _ideal(row: Row, weak: bool) -> Finding:
    why = [_figures(row, weak), "Computing is the limit, as it should be."]
    if row.shares:
        why.append(f"{_spent(row)}.")
    if _efficiency(row) > ABOVE:
        why.append(
            "Above the ideal means that a smaller share fits the caches better, or that something else held back "
            f"{_base(row)}."
        )
    if row.cores and _fitting(row) > row.ranks:
        following = f"There are cores for {words.ranks(_fitting(row))}: how far does it go?"
    elif weak:
        following = "Compare with the same work for all numbers of ranks."
    else:
        following = (
            "Every core is at work. Predict what more ranks than cores do, and what work that grows with the ranks "
            "changes (--weak); then try."
        )
    return Finding(f"{words.capital(_close(row))} the ideal: {_gain(row)}.", " ".join(why), following)


def _communication(row: Row, weak: bool) -> Finding:
    return Finding(
        f"Communication limits: {_gain(row)}.",
        _blame(row, "communicate"),
        "Give each rank more to do between two exchanges, by a larger batch"
        f"{'' if weak else ' or work that grows with the ranks (--weak)'}; or compare ways to exchange, where the "
        "workload has several.",
    )


def _oversubscription(row: Row, weak: bool) -> Finding:
    crowd = max(row.crowds, key=lambda crowd: crowd.threads / max(crowd.cores, 1))
    where = f" on {words.count(row.cores, 'core')}" if 0 < row.cores < row.ranks * row.threads else ""
    why = (
        f"{words.capital(words.numbered('rank', crowd.ranks))} {'have' if len(crowd.ranks) > 1 else 'has'} "
        f"{words.count(crowd.threads, 'thread')} for {words.count(crowd.cores, 'core')}: they take turns, and each "
        "exchange waits for the one whose turn came last."
    )
    if not row.cores:
        following = "Take no more ranks times threads than there are cores."
    elif where:
        following = f"This machine has cores for {words.ranks(_fitting(row))}" + (
            ": more than that take turns."
            if row.threads == 1
            else f" of {words.count(row.threads, 'thread')}; or try one each (--threads 1)."
        )
    else:
        following = "There are cores for all of them: try to bind them (--map-by core --bind-to core)."
    return Finding(
        f"Oversubscribed: {_who(row)}{where} are {row.speed_up or 0.0:.2f}× as fast as {_base(row)}.", why, following
    )


def _stragglers(row: Row, weak: bool) -> Finding:
    if row.late:
        late = words.numbered("rank", row.late)
        return Finding(
            f"{words.capital(late)} {'hold' if len(row.late) > 1 else 'holds'} up the others: {_gain(row)}.",
            f"{_blame(row, 'wait')} {row.waited}",
            f"Look at run {row.runs[-1]}: what else works on the cores of {late}, or gives it more to do?",
        )
    return Finding(
        f"Waiting limits: {_gain(row)}.",
        f"{_blame(row, 'wait')} {row.waited or 'Which rank came last, the runs do not tell.'}",
        "Start the study again when nobody else's run is under way: other programs on this machine take turns with the "
        "ranks on the cores. Bound ranks keep their place (--bind-to core).",
    )


def _input(row: Row, weak: bool) -> Finding:
    return Finding(
        f"Input limits: {_gain(row)}.",
        _blame(row, "input"),
        "Keep the data in memory, make it smaller or read ahead: more ranks read through the same disk and memory.",
    )


def _slower(row: Row, weak: bool) -> Finding:
    before = ((row.base.shares if row.base else {}) or {"compute": 1.0})["compute"]
    longer = row.shares["compute"] / _efficiency(row) / before if before else 1.0
    return Finding(
        f"Computing itself gets slower: {_gain(row)}.",
        f"{_spent(row)}. On the same amount of work a rank computes {longer:.2f} times as long as with {_base(row)}: "
        "ranks share the memory, the caches and the clock with each other and with whatever else works here"
        + ("." if weak else ", and small batches keep a core less busy."),
        "Try a smaller model or batch, which fits the caches: does computing still get slower?"
        if weak
        else "Compare with work that grows with the ranks (--weak), where each keeps its whole batch: does computing "
        "still get slower?",
    )


def _noise(row: Row, weak: bool) -> Finding:
    base = row.base or row
    return Finding(
        f"Too noisy to tell: the repeats of a placement differ more than {_base(row)} and {_who(row)} do.",
        f"{_who(base)} reached {_span(base)}, {_who(row)} {_span(row)}: that fits no speed-up as well as an ideal one.",
        "Measure longer runs and more of them (--repeats), while nobody else's run is under way.",
    )


def _unknown(row: Row, weak: bool) -> Finding:
    return Finding(
        f"Below the ideal: {_gain(row)}.",
        "The runs did not tell how their ranks spent the time, so the limit can't be named.",
        'Have the workload enclose its work in ctx.phase("compute") and ctx.phase("communicate").',
    )


_FINDINGS: Mapping[Limit, Callable[[Row, bool], Finding]] = {
    "compute": _slower,
    "communication": _communication,
    "oversubscription": _oversubscription,
    "stragglers": _stragglers,
    "input": _input,
    "noise": _noise,
    "unknown": _unknown,
}


def _too_little(rows: Sequence[Row], measured: Sequence[Row]) -> Finding:
    failures = [failure for row in rows for failure in row.failures]
    if failures and not measured and all(row.failures for row in rows):
        why = f"All trials failed. The first reason: {failures[0].rstrip('.')}."
        return Finding("Nothing could be measured.", why, "Mend that, then start the study again.")
    so_far = f"there is only {_who(measured[0])}" if measured else "there is none"
    why = f"A comparison takes two numbers of ranks; so far {so_far}."
    return Finding("Not enough measured yet.", " ".join([why, *_cautions(rows)]), "Let the study go on.")


# The pieces of sentences.


def _with(finding: Finding, why: Sequence[str]) -> Finding:
    return Finding(finding.verdict, " ".join(why), finding.following)


def _who(row: Row) -> str:
    threads = "" if row.threads == 1 else f" × {words.count(row.threads, 'thread')}"
    return f"{words.count(row.ranks, 'rank')}{threads}"


def _base(row: Row) -> str:
    return _who(row.base or row)


def _gain(row: Row) -> str:
    """1.89x on 2 ranks; 1.9x from 2 to 4 ranks where one rank was not measured."""
    start = row.base.ranks if row.base else 1
    over = f"on {_who(row)}" if start == 1 else f"from {start} to {_who(row)}"
    return f"{row.speed_up or 0.0:.2f}× {over}"


def _close(row: Row) -> str:
    return "above" if _efficiency(row) > ABOVE else "close to"


def _figures(row: Row, weak: bool) -> str:
    work = "On work that grew with them" if weak else "On the same work"
    return (
        f"{work}, {_who(row)} have {row.speed_up or 0.0:.2f} times the throughput of {_base(row)}, which is "
        f"{words.percent(_efficiency(row))} of the ideal."
    )


def _spent(row: Row) -> str:
    shares = [f"{SPENT[phase]} {words.percent(row.shares[phase])}" for phase in PHASES if row.shares[phase] >= 0.005]
    return f"Of the time of {_who(row)}, {words.listed(shares)}"


def _blame(row: Row, phase: str) -> str:
    lost = _lost(row)
    total = sum(max(value, 0.0) for value in lost.values())
    part = words.percent(max(lost[phase], 0.0) / total) if total > 0 else words.percent(0.0)
    return f"{_spent(row)}; {SPENT[phase]} is {part} of what is lost."


def _span(row: Row) -> str:
    return f"{words.quantity(min(row.rates))} to {words.quantity(max(row.rates))}"


def _fitting(row: Row) -> int:
    """How many ranks of this many threads the machine has cores for."""
    return max(row.cores // row.threads, 1)


def _cautions(rows: Sequence[Row]) -> list[str]:
    """Sentences on what the results don't show."""
    sentences = []
    if all(len(row.rates) <= 1 for row in rows) and any(row.rates for row in rows):
        sentences.append("Each was measured once, so chance isn't known.")
    without = [row for row in rows if not row.rates and row.failures]
    if without:
        who = words.listed(_who(row) for row in without)
        sentences.append(f"All trials with {who} failed: {without[0].failures[0].rstrip('.')}.")
    return sentences


@dataclass(frozen=True)
class ScalingReport(Report):
    """A scaling study and its results."""

    rows: list[Row]
    limit: str
    references: list[PublishedSpeedUp]

    @property
    def weak(self) -> bool:
        return bool(self.study.description["weak"])

    def findings(self) -> dict[str, Any]:
        description = self.study.description
        return {
            "weak": self.weak,
            "unit": self.unit,
            "params": description["params"],
            "placement": description["placement"],
            "rows": [row.as_json() for row in self.rows],
            "limit": self.limit,
            "references": [reference.as_json() for reference in self.references],
        }


def title(study: StudyRecord) -> str:
    """A scaling study in a few words."""
    return f"{'weak' if study.description['weak'] else 'strong'} scaling of {study.workload}"


def scaling_report(store: Store, study: StudyRecord) -> ScalingReport:
    """The report on a scaling study."""
    trials, runs = read(store, study.id)
    rate = study.description["rate"]
    measurements = []
    for trial in trials:
        run = runs.get(trial.run_id or 0)
        if trial.error is None and run is not None:
            measurements.append(measurement(run, {} if run.metrics.get("phases") else store.totals(run.id), rate))
            continue
        where, why = Placement.parse(trial.placement), failure(trial, run) if trial.error is not None else ""
        measurements.append(Measurement(where.ranks, where.threads_per_rank, trial.run_id, failed=why))
    measured_rows = rows(measurements)
    limit, verdict = scaling_verdict(measured_rows, study.description["weak"])
    largest = max((row.ranks for row in measured_rows), default=1)
    published = references(largest) if measured_rows and measured_rows[0].ranks == 1 else []
    return ScalingReport(study, trials, runs, verdict, measured_rows, limit, published)


KIND = Kind(plan.KIND, title, scaling_report, cards="workshop.study.scaling.cards:cards")
