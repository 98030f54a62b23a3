"""Verdicts on how ranks spent their time: waiting for one rank, moving data, reading input."""

from __future__ import annotations

from workshop.core import words
from workshop.report.analysis.findings import Facts, Finding
from workshop.report.analysis.placement import CHATTY

STRAGGLER = 0.15  # load imbalance from which one rank holds up the others
RESTLESS = 0.15  # share of waiting from which it is worth a word although the ranks computed the same
HUNGRY = 0.30  # share of reading input from which a run is about that
TINY = 1e-3  # seconds of compute per step below which a step is hardly worth sharing
DELAYED = 0.20  # share of the time of a rank that it waits for a core, from which times say little
GOOD_PART = 0.5  # of the time of an exchange: so much its messages have to explain to be blamed for it
QUIET = (
    "Run it again when nobody else's run is under way, and compare: other programs on this machine take turns with the "
    "ranks on the cores"
)
SHORT = 0.1  # seconds of compute below which differences may be chance


def delayed(facts: Facts) -> Finding | None:
    """Ranks that could run, but wait for a core that somebody else has."""
    if facts.crowds or not facts.core_waits:
        return None
    rank = max(facts.core_waits, key=lambda rank: facts.core_waits[rank])
    share = facts.core_waits[rank]
    if share < DELAYED:
        return None
    others = max((waited for other, waited in facts.core_waits.items() if other != rank), default=None)
    rest = (
        ""
        if others is None
        else f", {'the other' if facts.ranks == 2 else 'any other'} for up to {words.percent(others)}"
    )
    return Finding(
        f"Other programs use the cores: {'the rank' if facts.ranks == 1 else 'ranks'} waited up to "
        f"{words.percent(share)} of the time for one.",
        f"Rank {rank} could run, but waited for a core for {words.percent(share)} of the time{rest}. So its times say "
        "more about the other programs than about this one.",
        f"{QUIET}.",
    )


def straggling(facts: Facts) -> Finding | None:
    """A rank for which the others wait."""
    times = facts.times
    if times is None or facts.ranks < 2:
        return None
    if times.imbalance < STRAGGLER:
        return None
    slow = times.slowest
    others = (sum(times.compute) - times.compute[slow]) / (facts.ranks - 1)
    report = next((report for report in facts.reports if report["rank"] == slow), None)
    place = (
        f" ({words.numbered('hardware thread', report['units'])} of {report['host']})"
        if report and report["units"]
        else ""
    )
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
        following = f"Give rank {slow} a core of its own: try {words.ranks(facts.fitting)}."
    else:
        following = (
            f"Run it again: if rank {slow} is slow again, it has more work or a slower place than the others; "
            "if it is another rank, something else works on this machine. Perfect balance would save "
            f"{words.percent(times.waste)} of the time."
        )
    return Finding(f"Rank {slow} holds up the others.", why, following, of_times=True)


def talking(facts: Facts) -> Finding | None:
    """Ranks that move data for a good part of their time."""
    times = facts.times
    if times is None or facts.ranks < 2 or times.exchange_share < CHATTY:
        return None
    each, exchange = sum(times.compute) / facts.ranks / times.steps, times.exchange / times.steps
    why = (
        f"Moving data takes {words.percent(times.exchange_share)} of the ranks' time: per step a rank computes for "
        f"{words.seconds(each)} and communicates for {words.seconds(exchange)}."
    )
    if not explained(facts):
        return Finding(
            "The ranks wait for each other in the exchange.",
            f"{why} The {words.size(facts.metrics['bytes_per_step'])} that a step exchanges need "
            f"{words.seconds(facts.transfer or 0.0)} at most: for the rest of the time a rank had not got there yet.",
            f"{QUIET}.",
            of_times=True,
        )
    if each < TINY:
        return Finding(
            "Communication dominates: each step is too small to share.",
            why,
            f"Give each rank more to do per step (more data, more clusters, larger batches), or try {words.ranks(1)}: "
            f"{words.seconds(each * facts.ranks)} of computing per step needs nobody else.",
            of_times=True,
        )
    return Finding(
        "Communication dominates.",
        why,
        f"Exchange less, or less often, or try {words.ranks(max(facts.ranks // 2, 1))} and compare.",
        of_times=True,
    )


def explained(facts: Facts) -> bool:
    """Whether the messages of a step explain the time of its exchange, as far as the run tells of them."""
    times, transfer = facts.times, facts.transfer
    return times is None or transfer is None or transfer >= GOOD_PART * times.exchange / times.steps


def reading(facts: Facts) -> Finding | None:
    """Ranks that wait for their input for a good part of their time."""
    times = facts.times
    if times is None or times.input_share < HUNGRY:
        return None
    step = max(times.input) / times.steps
    return Finding(
        "Reading the input dominates.",
        f"Getting the input of a step ready takes {words.percent(times.input_share)} of the ranks' time, up to "
        f"{words.seconds(step)} a step.",
        "Keep the input in memory in the form in which it is needed, or prepare the next one while a step computes; "
        "more ranks only help where each of them reads a part of its own.",
        of_times=True,
    )


def restless(facts: Facts) -> Finding | None:
    """Waiting without anybody who would always be the last."""
    times = facts.times
    if times is None or facts.ranks < 2 or times.waiting_share < RESTLESS or times.imbalance >= STRAGGLER:
        return None
    return taking_turns(
        facts,
        f"{words.percent(times.waiting_share)} of their time is waiting, although they computed the same within "
        f"{words.percent(times.imbalance)}: in one step one is late, in the next another.",
    )


def taking_turns(facts: Facts, why: str) -> Finding:
    """The finding for ranks that are late in turns."""
    longest = max(facts.times.compute) if facts.times is not None else SHORT
    return Finding(
        "The ranks take turns at being late.",
        why,
        f"{QUIET}."
        + (" Or try to bind the ranks (--bind-to core), so that they stay where they are." * facts.bindable)
        + (f" A run of more than {words.seconds(longest)} of computing says more." if longest < SHORT else ""),
        of_times=True,
    )


def balanced(facts: Facts) -> Finding:
    """The finding for a run in which nothing else stands out."""
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
        + f"Compare with {words.ranks(1)}: how close to {facts.ranks} times as fast is it?",
    )


def shares(facts: Facts) -> str:
    """How the ranks spent their time, in a sentence; "" where it isn't known or there is one rank."""
    times = facts.times
    if times is None or facts.ranks < 2:
        return ""
    moving = f"moving data took {words.percent(times.exchange_share)} of their time, "
    if not times.are_separate:
        moving = "they did not tell the time of moving data, which counts as computing; "
    return (
        f"The ranks computed the same within {words.percent(times.imbalance)}; {moving}waiting took "
        f"{words.percent(times.waiting_share)}{'' if times.are_separate else ' of their time'}."
    )
