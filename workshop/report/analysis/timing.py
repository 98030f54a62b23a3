"""Verdicts on how ranks spent their time: waiting for one rank, moving data, reading input."""

from __future__ import annotations

from workshop.core import words
from workshop.report.analysis.balance import Balance
from workshop.report.analysis.findings import Facts, Finding
from workshop.report.analysis.placement import BIND, CHATTY
from workshop.report.analysis.waits import WaitingTime, sentence, waiting

STRAGGLER = 0.15  # load imbalance from which one rank holds up the others
RESTLESS = 0.15  # share of waiting from which it is worth a word although the ranks computed the same
HELD_UP = 0.10  # share of waiting for a rank that is known by name, from which it is worth a word
HUNGRY = 0.30  # share of reading input from which a run is about that
TINY = 1e-3  # seconds of compute per step below which a step is hardly worth sharing
SHORT = 0.1  # seconds of compute below which differences may be chance


def straggling(facts: Facts) -> Finding | None:
    """A rank for which the others wait."""
    times = facts.times
    if times is None or facts.ranks < 2 or facts.apart:
        return None
    told = waiting(facts.run)
    if told is not None:
        return _held_up(facts, told, times) if told.late and told.share >= HELD_UP else None
    if times.imbalance < STRAGGLER:
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
        following = f"Give rank {slow} a unit of its own: try {words.ranks(facts.fitting)}."
    else:
        following = (
            f"Run it again: if rank {slow} is slow again, it has more work or a slower place than the others; "
            "if it is another rank, something else works on this machine. Perfect balance would save "
            f"{words.percent(times.waste)} of the time."
        )
    return Finding(f"Rank {slow} holds up the others.", why, following, of_times=True)


def _held_up(facts: Facts, told: WaitingTime, times: Balance) -> Finding:
    """The same of a run that told of every step who came last."""
    who = words.numbered("rank", told.late)
    why = f"{sentence(told)} Waiting is {words.percent(told.share)} of the ranks' time."
    where = told.places or "its core"
    following = {
        "shares": f"Try {words.ranks(facts.fitting)}, so that each rank has a core of its own."
        if facts.ranks > facts.fitting
        else f"Try a core for each rank ({BIND}).",
        "fewer": f"Give all ranks the same: try a core for each ({BIND}).",
        "host": "See what else works on that host, or leave it out.",
        "server": "Let the ranks reduce the gradients among themselves (--exchange auto), and compare.",
        "input": "Look at where its images come from: the other ranks read theirs faster.",
        "unknown": f"Run it again: if {who} {_are(told)} late again, something else works on {where}; "
        "if it is another rank, something else works now here, now there.",
    }[told.kind]
    if max(times.compute) < SHORT:
        following = f"Let it run for longer and look again: chance decides in a run this short. {following}"
    return Finding(f"{words.capital(who)} {_hold(told)} up the others.", why, following, of_times=True)


def _are(told: WaitingTime) -> str:
    return "is" if len(told.late) == 1 else "are"


def _hold(told: WaitingTime) -> str:
    return "holds" if len(told.late) == 1 else "hold"


def talking(facts: Facts) -> Finding | None:
    """Ranks that move data for a good part of their time."""
    times = facts.times
    if times is None or facts.ranks < 2 or times.exchange_share < CHATTY:
        return None
    each = sum(times.compute) / facts.ranks / times.steps
    why = (
        f"Moving data takes {words.percent(times.exchange_share)} of the ranks' time: per step a rank computes for "
        f"{words.seconds(each)} and communicates for {words.seconds(times.exchange / times.steps)}."
    )
    if facts.training:
        return _gradients(facts, why)
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


def _gradients(facts: Facts, why: str) -> Finding:
    """The same for runs that move gradients."""
    told = facts.metrics
    way, messages, size = told["exchange"], told.get("messages_per_step"), told.get("bytes_per_step")
    if messages and size:
        why += f" In each, rank 0 hands over {words.size(size)} in {words.count(messages, 'message')}."
    if way == "mpi-per-tensor":
        following = "Try one all-reduce for all tensors together (--exchange mpi), and compare."
    elif way == "parameter-server":
        following = "Try an all-reduce (--exchange auto): no rank then has to talk to all the others."
    elif larger := _larger(facts):
        following = f"Try {larger}: the exchange costs the same whatever the batch, so there is more to compute for it."
    else:
        following = (
            f"Try {words.ranks(max(facts.ranks // 2, 1))} and compare: a batch is all that a rank holds, so it can't "
            "be larger."
        )
    return Finding("Communication dominates.", why, following, of_times=True)


def _larger(facts: Facts) -> str:
    """Larger batches, in words, as large as a rank's share of the images allows; "" where it allows none."""
    told, params = facts.metrics, facts.run.params
    batch, images = params.get("batch"), told.get("unlabelled_images") or told.get("train_images")
    if not isinstance(batch, int):
        return "larger batches"
    most = [2 * batch, *(told.get("shards") or [])]
    if images and params.get("divide") is not False:
        most.append(images // facts.ranks)  # without shards each rank holds all images, but reads its share of them
    return f"larger batches (--batch {min(most)})" if min(most) > batch else ""


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
    times, told = facts.times, waiting(facts.run)
    if times is None or facts.ranks < 2 or facts.apart or times.waiting_share < RESTLESS:
        return None
    if told.late if told is not None else times.imbalance >= STRAGGLER:
        return None
    longest = max(times.compute)
    why = (
        f"{words.percent(times.waiting_share)} of their time is waiting, although they computed the same within "
        f"{words.percent(times.imbalance)}: in one step one is late, in the next another."
    )
    return Finding(
        "The ranks take turns at being late.",
        why if told is None else f"{sentence(told)} Waiting is {words.percent(told.share)} of their time.",
        "See what else works on this machine and end it"
        + (
            ", and try to bind the ranks (--bind-to core), so that they stay where they are."
            if facts.unbound
            else ", then run it again."
        )
        + (f" A run of more than {words.seconds(longest)} of computing says more." if longest < SHORT else ""),
        of_times=True,
    )


def balanced(facts: Facts) -> Finding:
    """What to say where nothing else is to be said."""
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
    told = waiting(facts.run)
    if told is not None:
        return f"Moving data took {words.percent(times.exchange_share)} of the ranks' time. {sentence(told)}"
    return (
        f"The ranks computed the same within {words.percent(times.imbalance)}; moving data took "
        f"{words.percent(times.exchange_share)} of their time, waiting {words.percent(times.waiting_share)}."
    )
