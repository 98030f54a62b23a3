"""Verdict, Why, Next: what a run says in plain words, computed from its record and its events' totals."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from workshop.analysis import words
from workshop.analysis.balance import Balance, Totals, balance
from workshop.analysis.endings import ending
from workshop.analysis.oversubscription import Crowd, oversubscription
from workshop.store.records import RunRecord

STRAGGLER = 0.15  # load imbalance from which one rank holds up the others
CHATTY = 0.30  # share of moving data from which it is what a run is about
RESTLESS = 0.15  # share of waiting from which it is worth a word although the ranks computed the same
TINY = 1e-3  # seconds of compute per step below which a step is hardly worth sharing
SHORT = 0.1  # seconds of compute below which differences may be chance


@dataclass(frozen=True)
class Finding:
    """One thing to say; of several the first is the verdict."""

    verdict: str
    why: str
    following: str
    of_times: bool = False  # whether `why` tells how the ranks spent their time


@dataclass(frozen=True)
class Facts:
    """What findings are made from."""

    ranks: int
    threads: int  # per rank
    reports: list[Mapping[str, Any]]  # of the rank map
    units: list[Mapping[str, Any]]  # of the machine
    crowds: list[Crowd]
    times: Balance | None

    @property
    def cores(self) -> int:
        """Of the machine; 0 where it isn't known."""
        return len({unit["core"] for unit in self.units})

    @property
    def hosts(self) -> int:
        return len({report["host"] for report in self.reports})

    @property
    def fitting(self) -> int:
        """How many ranks of this many threads the machine has cores for."""
        return max(self.cores // self.threads, 1)

    @property
    def busy(self) -> int:
        """Cores that can be at work at once: no more than there are threads, no more than ranks may run on."""
        core_of = {unit["unit"]: unit["core"] for unit in self.units}
        allowed = {core_of[unit] for report in self.reports for unit in report["units"] if unit in core_of}
        return min(self.ranks * self.threads, len(allowed))

    @property
    def unbound(self) -> bool:
        """Whether every rank may run anywhere on a machine with more than one core."""
        everything = {unit["unit"] for unit in self.units}
        return self.cores > 1 and bool(self.reports) and all(set(r["units"]) == everything for r in self.reports)


def verdict(run: RunRecord, totals: Totals) -> dict[str, str]:
    """`verdict`, `why` and `next` of a run; `totals` are its events' (`Store.totals`): name -> rank -> count, sum.

    Of a run that still goes on it says what can be seen so far. Nothing that a record may lack is an error.
    """
    ended_otherwise = ending(run)
    if ended_otherwise is not None:
        return ended_otherwise
    facts = _facts(run, totals)
    looks = (_oversubscribed, _straggling, _talking, _waiting, _idle, _unbound)
    findings = [finding for look in looks if (finding := look(facts)) is not None]
    main, *others = findings or [_balanced(facts)]
    why = [main.why]
    if others:  # the second finding often explains the first; more than two at once teach nothing
        why.append(f"Also: {others[0].why[0].lower()}{others[0].why[1:]}")
    if facts.times is not None and facts.ranks > 1 and not any(finding.of_times for finding in findings):
        why.append(_shares(facts.times))
    return {"verdict": main.verdict, "why": " ".join(why), "next": main.following}


def _facts(run: RunRecord, totals: Totals) -> Facts:
    machine, reports = run.machine or {}, (run.rank_map or {}).get("ranks") or []
    ranks = len(reports) or run.placement.get("ranks") or 1
    threads = run.placement.get("threads") or run.placement.get("cores_per_rank") or 1
    crowds = oversubscription(run.rank_map, machine, threads)
    return Facts(ranks, threads, reports, machine.get("units") or [], crowds, balance(totals, ranks))


def _oversubscribed(facts: Facts) -> Finding | None:
    if not facts.crowds:
        return None
    shares = words.listed(_crowd(crowd) for crowd in facts.crowds[:4])
    more = f", and {len(facts.crowds) - 4} more groups likewise" if len(facts.crowds) > 4 else ""
    why = f"{shares[0].upper()}{shares[1:]}{more}."
    if all(crowd.kind == "cores" for crowd in facts.crowds):
        return Finding(
            "Hardware threads share cores.",
            f"{why} Two hardware threads share the arithmetic of one core, which seldom makes two threads' worth.",
            f"Try --ranks {facts.fitting}: one rank for each of the {facts.cores} cores."
            if facts.ranks > facts.fitting
            else "Try --map-by core --bind-to core: there are cores for all of them.",
        )
    if all(len(crowd.ranks) == 1 for crowd in facts.crowds):
        room = max(facts.cores // facts.ranks, 1)
        return Finding(
            "Oversubscribed: each rank has more threads than cores.",
            f"{why} Threads bound to the same core take turns on it.",
            f"Try --cores-per-rank {facts.threads}, so that each thread has a core of its own."
            if facts.threads <= room
            else f"Try --threads {room}.",
        )
    if facts.cores and facts.ranks * facts.threads <= facts.cores:
        return Finding(
            "Oversubscribed, although the machine has cores for all.",
            f"{why} The machine has {facts.cores} cores.",
            "Try --map-by core --bind-to core: each rank gets a core of its own.",
        )
    threads = "" if facts.threads == 1 else f" x {words.count(facts.threads, 'thread')}"
    cores = f" on {words.count(facts.cores, 'core')}" if facts.cores and facts.hosts == 1 else ""
    return Finding(
        f"Oversubscribed: {words.count(facts.ranks, 'rank')}{threads}{cores}.",
        f"{why} Who shares a unit takes turns on it, and every collective waits for the rank whose turn came last.",
        f"Try --ranks {facts.fitting}{'' if facts.threads == 1 else ' or --threads 1'}, and compare the two runs.",
    )


def _crowd(crowd: Crowd) -> str:
    where = words.numbered("unit", crowd.units)
    who = words.numbered("rank", crowd.ranks)
    if len(crowd.ranks) == 1:
        return f"{who} runs {crowd.threads} threads on {where}"
    threads = f", {crowd.threads} threads together" if crowd.threads > len(crowd.ranks) else ""
    if crowd.kind == "cores":
        return f"{where}, in {words.count(crowd.cores, 'core')}, {_are(crowd.units)} shared by {who}{threads}"
    return f"{where} {_are(crowd.units)} shared by {who}{threads}"


def _are(things: tuple[int, ...]) -> str:
    return "is" if len(things) == 1 else "are"


def _straggling(facts: Facts) -> Finding | None:
    times = facts.times
    if times is None or facts.ranks < 2 or times.imbalance < STRAGGLER:
        return None
    slow = times.slowest
    others = (sum(times.compute) - times.compute[slow]) / (facts.ranks - 1)
    report = next((report for report in facts.reports if report["rank"] == slow), None)
    place = f" ({words.numbered('unit', report['units'])} of {report['host']})" if report and report["units"] else ""
    why = (
        f"Rank {slow}{place} computed for {words.seconds(times.compute[slow])}, "
        f"{'the other' if facts.ranks == 2 else 'the others on average'} for {words.seconds(others)}: "
        f"{words.percent(times.lag)} more. Waiting is {words.percent(times.waiting_share)} of the ranks' time."
    )
    if times.compute[slow] < SHORT:
        following = (
            f"Give the ranks more to do and look again: with only {words.seconds(times.compute[slow])} of computing, "
            "chance decides who is slowest."
        )
    elif any(slow in crowd.ranks for crowd in facts.crowds):
        following = f"Give rank {slow} a unit of its own: try --ranks {facts.fitting}."
    else:
        following = (
            f"Run it again: if rank {slow} is slow again, it has more work or a slower place than the others; "
            "if it is another rank, something else works on this machine. Perfect balance would save "
            f"{words.percent(times.waste)} of the time."
        )
    return Finding(f"Rank {slow} holds up the others.", why, following, of_times=True)


def _talking(facts: Facts) -> Finding | None:
    times = facts.times
    if times is None or facts.ranks < 2 or times.exchange_share < CHATTY:
        return None
    each = sum(times.compute) / facts.ranks / times.steps
    why = (
        f"Moving data takes {words.percent(times.exchange_share)} of the ranks' time: per step a rank computes for "
        f"{words.seconds(each)} and communicates for {words.seconds(times.exchange / times.steps)}."
    )
    if each < TINY:
        return Finding(
            "Communication dominates: each step is too small to share.",
            why,
            f"Give each rank more to do per step (more data, more clusters, larger batches), or try --ranks 1: "
            f"{words.seconds(each * facts.ranks)} of computing per step needs nobody else.",
            of_times=True,
        )
    return Finding(
        "Communication dominates.",
        why,
        f"Exchange less, or less often, or try --ranks {max(facts.ranks // 2, 1)} and compare.",
        of_times=True,
    )


def _waiting(facts: Facts) -> Finding | None:
    times = facts.times
    if times is None or facts.ranks < 2 or times.imbalance >= STRAGGLER or times.waiting_share < RESTLESS:
        return None
    longest = max(times.compute)
    return Finding(
        "The ranks take turns at being late.",
        f"{words.percent(times.waiting_share)} of their time is waiting, although they computed the same within "
        f"{words.percent(times.imbalance)}: in one step one is late, in the next another.",
        "See what else works on this machine and end it"
        + (", and try --bind-to core, so that ranks stay where they are." if facts.unbound else ", then run it again.")
        + (f" A run of more than {words.seconds(longest)} of computing says more." if longest < SHORT else ""),
        of_times=True,
    )


def _idle(facts: Facts) -> Finding | None:
    times = facts.times
    if facts.hosts != 1 or not facts.cores or facts.busy >= facts.cores:
        return None
    if times is not None and times.exchange_share >= CHATTY:
        return None  # more ranks would talk even more
    idle = facts.cores - facts.busy
    threads = "" if facts.threads == 1 else f" with {facts.threads} threads each"
    return Finding(
        "Half of the machine was idle." if 2 * idle == facts.cores else "Part of the machine was idle.",
        f"{words.count(facts.ranks, 'rank')}{threads} kept {facts.busy} of {facts.cores} cores busy.",
        f"Try --ranks {facts.fitting}: how much faster is it?"
        if facts.fitting > facts.ranks
        else f"Try --ranks {facts.cores} --threads 1: a rank for every core.",
    )


def _unbound(facts: Facts) -> Finding | None:
    if not facts.unbound or facts.ranks < 2 or facts.hosts != 1 or facts.crowds:
        return None
    wandered = [
        report["rank"]
        for report in facts.reports
        if any(len(thread.get("units_seen") or []) > 1 for thread in report.get("threads") or [])
    ]
    seen = f"; threads of {words.numbered('rank', wandered)} were seen on several" if wandered else ""
    return Finding(
        "Unbound: nothing keeps the ranks in place.",
        f"Each of the {facts.ranks} ranks may run on all {len(facts.units)} units{seen}.",
        "Try --bind-to core: a rank that stays on its core keeps its caches warm.",
    )


def _balanced(facts: Facts) -> Finding:
    times = facts.times
    if times is None:
        return Finding(
            "Done; it did not tell how its ranks spent their time.",
            f"No rank told a time in a phase, so {words.count(facts.ranks, 'rank')} can't be compared.",
            'Enclose the work in ctx.phase("compute") and ctx.phase("communicate"), and end each step with '
            "ctx.end_step.",
        )
    if facts.ranks == 1:
        return Finding(
            "One rank, working alone.",
            f"It computed for {words.seconds(times.compute[0])} in {words.count(times.steps, 'step')}; with nobody "
            "to wait for or to talk to, this is what other placements compare with.",
            "Keep it as the baseline: the speed-up of more ranks is this time divided by theirs.",
        )
    return Finding(
        "Well balanced.",
        f"The {facts.ranks} ranks computed for {words.seconds(sum(times.compute) / facts.ranks)} each.",
        (f"Every core is busy ({facts.busy} of {facts.cores}): more would only take turns. " if facts.cores else "")
        + f"Compare with --ranks 1: how close to {facts.ranks} times as fast is it?",
    )


def _shares(times: Balance) -> str:
    return (
        f"The ranks computed the same within {words.percent(times.imbalance)}; moving data took "
        f"{words.percent(times.exchange_share)} of their time, waiting {words.percent(times.waiting_share)}."
    )
