"""Verdict, Why, Next: what a run says in plain words, computed from its record and its events' totals."""

from __future__ import annotations

from workshop.core.errors import BadInput
from workshop.registry import workloads
from workshop.report import rules
from workshop.report.analysis.balance import Totals
from workshop.report.analysis.findings import facts
from workshop.report.endings import ending
from workshop.report.rules import say
from workshop.store.records import RunRecord


def verdict(run: RunRecord, totals: Totals) -> dict[str, str]:
    """`verdict`, `why` and `next` of a run; `totals` are its events'. Faults made on purpose are first, then
    what kept the run from being faster, then its result. Missing parts of a record are no error."""
    ended_otherwise = ending(run, totals)
    if ended_otherwise is not None:
        return ended_otherwise
    workload = workloads().get(run.workload)
    broken = []
    try:
        run_rules = rules.read(workload.rules if workload is not None and workload.rules else rules.GENERAL)
    except BadInput as error:  # the run is worth its general verdict
        run_rules, broken = rules.read(rules.GENERAL), [str(error)]
    named = rules.context(run_rules, facts(run, totals), totals)
    faults = list(rules.holding(run_rules.faults, named))
    spoiled = any(rule.spoils for rule, _ in faults)
    slow = [finding for _, finding in rules.holding(run_rules.checks, named)]
    result = next((finding for _, finding in rules.holding(run_rules.outcome, named)), None)
    first = [result] if result is not None and run_rules.first else []
    reached = None if first else result
    main, *others = [*(finding for _, finding in faults), *first, *slow] or [
        reached or next(finding for _, finding in rules.holding(run_rules.otherwise, named))
    ]
    why = [main.why]
    if others:  # the second finding often explains the first; more than two at once teach nothing
        also = others[0].why or others[0].verdict
        why.append(f"Also: {also[0].lower()}{also[1:]}")
    if len(faults) > 2:  # but each fault is named
        why.append("And: " + " ".join(finding.verdict for _, finding in faults[2:]))
    if reached is not None and main is not reached and not spoiled:
        why.append(reached.verdict)
    if not any(finding.of_times for finding in [main, *others]) and not spoiled and len(faults) < 2:
        why.append(named.get("shares", ""))
    why += [say(text, named) or "" for text in run_rules.remarks]
    return {"verdict": main.verdict, "why": " ".join(filter(None, [*why, *broken])), "next": main.following}
