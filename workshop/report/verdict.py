"""Verdict, Why, Next: what a run says in plain words, computed from its record and its events' totals."""

from __future__ import annotations

from workshop.extension import Verdict, load
from workshop.registry import workloads
from workshop.report.analysis import placement, timing, training
from workshop.report.analysis.balance import Totals
from workshop.report.analysis.divergence import diverged
from workshop.report.analysis.endings import ending
from workshop.report.analysis.findings import facts
from workshop.report.analysis.recipe import recipe
from workshop.report.analysis.training import evaluating
from workshop.store.records import RunRecord

LOOKS = (
    placement.on_one_host,
    placement.oversubscribed,
    timing.straggling,
    timing.talking,
    evaluating,
    timing.restless,
    timing.reading,
    placement.idle,
    placement.unbound,
)


def verdict(run: RunRecord, totals: Totals) -> dict[str, str]:
    """`verdict`, `why` and `next` of a run; `totals` are its events' (`Store.totals`): name -> rank -> count, sum.

    What a learner broke on purpose comes first, then what kept the run from being faster, then what it came to. Of a
    run that still goes on it says what can be seen so far. Nothing that a record may lack is an error.
    """
    ended_otherwise = ending(run, totals)
    if ended_otherwise is not None:
        return ended_otherwise
    known = facts(run, totals)
    broken, remarks = recipe(known, totals)
    own = verdict_of(run.workload)
    came = own.measured(known)
    looks = LOOKS if own.looks is None or came is None else own.looks
    slow = [finding for look in looks if (finding := look(known)) is not None]
    first = [came] if came is not None and own.first else []
    reached = came if came is not None and not own.first else training.reached(known)
    main, *others = [*broken, *first, *slow] or [reached or timing.balanced(known)]
    why = [main.why]
    if others:  # the second finding often explains the first; more than two at once teach nothing
        why.append(f"Also: {_continued(others[0].why)}")
    if len(broken) > 2:  # but each thing that is broken is named
        why.append("And: " + " ".join(finding.verdict for finding in broken[2:]))
    lost = diverged(known)
    if reached is not None and main is not reached and not lost:
        why.append(reached.verdict)
    told = any(finding.of_times for finding in [main, *others])
    if not told and not lost and len(broken) < 2 and (shares := timing.shares(known)):
        why.append(shares)
    why += [*remarks, *training.remarks(known)]
    return {"verdict": main.verdict, "why": " ".join(why), "next": main.following}


def verdict_of(workload: str) -> Verdict:
    """What runs of a workload say; of one that is not installed, what any run says."""
    known = workloads().get(workload)
    return load(known.verdict) if known is not None and known.verdict else Verdict(lambda facts: None)


def _continued(sentence: str) -> str:
    """A sentence behind a colon."""
    return sentence[0].lower() + sentence[1:]
