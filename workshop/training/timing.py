"""Verdicts on how the ranks of a training run spent their time: the general ones, with its clocks of every step."""

from __future__ import annotations

from workshop.core import words
from workshop.report.analysis import timing
from workshop.report.analysis.balance import Balance
from workshop.report.analysis.findings import Facts, Finding
from workshop.report.analysis.placement import BIND
from workshop.training.facts import has_trained, is_independent
from workshop.training.waits import WaitingTime, sentence, waiting

HELD_UP = 0.10  # share of waiting for a rank that is known by name, from which it is worth a word


def straggling(facts: Facts) -> Finding | None:
    """A rank for which the others wait."""
    if is_independent(facts):
        return None
    times, waits = facts.times, waiting(facts.run)
    if times is None or facts.ranks < 2 or waits is None:
        return timing.straggling(facts)
    return _held_up(facts, waits, times) if waits.late and waits.share >= HELD_UP else None


def _held_up(facts: Facts, waits: WaitingTime, times: Balance) -> Finding:
    """The same of a run that told of every step who came last."""
    who, count = words.numbered("rank", waits.late), len(waits.late)
    why = f"{sentence(waits)} Waiting is {words.percent(waits.share)} of the ranks' time."
    where = waits.places or "its core"
    following = {
        "shares": f"Try {words.ranks(facts.fitting)}, so that each rank has a core of its own."
        if facts.ranks > facts.fitting
        else f"Try a core for each rank ({BIND}).",
        "fewer": f"Give all ranks the same: try a core for each ({BIND}).",
        "host": "See what else works on that host, or leave it out.",
        "server": "Let the ranks reduce the gradients among themselves (--exchange auto), and compare.",
        "input": "Look at where its images come from: the other ranks read theirs faster.",
        "checkpoint": "Write checkpoints less often: Young's interval says how often.",
        "unknown": f"Run it again: if {who} {words.verb(count)} late again, something else works on {where}; "
        "if it is another rank, something else works now here, now there.",
    }[waits.kind]
    if max(times.compute) < timing.SHORT:
        following = f"Let it run for longer and look again: chance decides in a run this short. {following}"
    return Finding(
        f"{words.capital(who)} {words.verb(count, 'holds', 'hold')} up the others.", why, following, of_times=True
    )


def talking(facts: Facts) -> Finding | None:
    """Ranks that move gradients for a good part of their time."""
    finding = timing.talking(facts)
    return _gradients(facts, finding.why) if finding is not None and has_trained(facts) else finding


def _gradients(facts: Facts, why: str) -> Finding:
    """The same for runs that move gradients."""
    metrics = facts.metrics
    way, messages, size = metrics["exchange"], metrics.get("messages_per_step"), metrics.get("bytes_per_step")
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
    metrics, params = facts.metrics, facts.run.params
    batch, images = params.get("batch"), metrics.get("unlabelled_images") or metrics.get("train_images")
    if not isinstance(batch, int):
        return "larger batches"
    most = [2 * batch, *(metrics.get("shards") or [])]
    if images and params.get("divide") is not False:
        most.append(images // facts.ranks)  # without shards each rank holds all images, but reads its share of them
    return f"larger batches (--batch {min(most)})" if min(most) > batch else ""


def restless(facts: Facts) -> Finding | None:
    """Waiting without anybody who would always be the last."""
    if is_independent(facts):
        return None
    times, waits = facts.times, waiting(facts.run)
    if waits is None:
        return timing.restless(facts)
    if times is None or facts.ranks < 2 or times.waiting_share < timing.RESTLESS or waits.late:
        return None
    return timing.taking_turns(facts, f"{sentence(waits)} Waiting is {words.percent(waits.share)} of their time.")


def shares(facts: Facts) -> str:
    """How the ranks spent their time, in a sentence; "" where it isn't known or there is one rank."""
    times, waits = facts.times, waiting(facts.run)
    if times is None or facts.ranks < 2 or waits is None:
        return timing.shares(facts)
    return f"Moving data took {words.percent(times.exchange_share)} of the ranks' time. {sentence(waits)}"
