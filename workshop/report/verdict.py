"""Verdict, Why, Next: what a run says in plain words, computed from its record and its events' totals."""

from __future__ import annotations

from workshop.extension import Observations, Verdict, load
from workshop.registry import workloads
from workshop.report.analysis import placement, timing
from workshop.report.analysis.balance import Totals
from workshop.report.analysis.endings import ending
from workshop.report.analysis.findings import facts
from workshop.store.records import RunRecord

CHECKS = (
    placement.on_one_host,
    placement.oversubscribed,
    timing.delayed,
    timing.straggling,
    timing.talking,
    timing.restless,
    timing.reading,
    placement.idle,
    placement.unbound,
)


def verdict(run: RunRecord, totals: Totals) -> dict[str, str]:
    """`verdict`, `why` and `next` of a run; `totals` are its events' (`Store.totals`): name -> rank -> count, sum.

    Faults made on purpose come first, then what kept the run from being faster, then its result. The verdict on a run
    that still goes on says what is known so far. Missing parts of a record are no error.
    """
    ended_otherwise = ending(run, totals)
    if ended_otherwise is not None:
        return ended_otherwise
    facts_of_run = facts(run, totals)
    workload_verdict = verdict_of(run.workload)
    observed = workload_verdict.observe(facts_of_run, totals) if workload_verdict.observe else Observations()
    result = workload_verdict.outcome(facts_of_run)
    checks = workload_verdict.checks(facts_of_run) if workload_verdict.checks else CHECKS
    slow = [finding for check in checks if (finding := check(facts_of_run)) is not None]
    first = [result] if result is not None and workload_verdict.first else []
    reached = None if workload_verdict.first else result
    main, *others = [*observed.faults, *first, *slow] or [reached or timing.balanced(facts_of_run)]
    why = [main.why]
    if others:  # the second finding often explains the first; more than two at once teach nothing
        why.append(f"Also: {others[0].why[0].lower()}{others[0].why[1:]}")
    if len(observed.faults) > 2:  # but each fault is named
        why.append("And: " + " ".join(finding.verdict for finding in observed.faults[2:]))
    if reached is not None and main is not reached and not observed.diverged:
        why.append(reached.verdict)
    about_times = any(finding.of_times for finding in [main, *others])
    if not about_times and not observed.diverged and len(observed.faults) < 2:
        why += filter(None, [timing.shares(facts_of_run) if observed.times is None else observed.times])
    why += observed.remarks
    return {"verdict": main.verdict, "why": " ".join(why), "next": main.following}


def verdict_of(workload: str) -> Verdict:
    """The verdict description of a workload; the general one for a workload that is not installed."""
    workload_class = workloads().get(workload)
    return (
        load(workload_class.verdict)
        if workload_class is not None and workload_class.verdict
        else Verdict(lambda facts: None)
    )
