"""How a training run spent its time, and findings on that; whether a run trained at all, and exchanged gradients."""

from __future__ import annotations

from collections.abc import Mapping
from statistics import fmean
from typing import Any, TypeGuard

from workshop.core import words
from workshop.report.analysis import timing
from workshop.report.analysis.balance import Balance
from workshop.report.analysis.findings import Facts, Finding
from workshop.report.analysis.placement import BIND
from workshop.report.analysis.scores import number
from workshop.report.training.waits import WaitingTime, sentence, waiting
from workshop.store.records import RunRecord


def has_trained(facts: Facts) -> bool:
    """Whether the run trained a model on all ranks: its metrics name the exchange of gradients and count updates."""
    return isinstance(facts.metrics.get("exchange"), str) and isinstance(facts.metrics.get("updates"), int)


def is_independent(facts: Facts) -> bool:
    """Whether the ranks exchanged nothing, so that no rank waited."""
    return facts.metrics.get("exchange") == "none"


# Names of `metrics.seconds`, and how their parts are called; in the order in which they are shown.
NAMES = {"train": "training", "evaluate": "evaluation", "prepare": "preparation"}
WAIT, REST = "wait", "rest"


def spent(run: RunRecord) -> dict[str, float]:
    """A run's seconds by kind: training (its steps without waiting), wait (in its steps, on average over the ranks),
    evaluation, preparation (imports, data, building, and the first steps, which compile) and the rest, such as
    checkpoints. Empty where the run tells no `seconds` of training."""
    seconds = run.metrics.get("seconds")
    if not isinstance(seconds, Mapping) or not _seconds(seconds.get("train")):
        return {}
    parts = {name: float(seconds[key]) for key, name in NAMES.items() if _seconds(seconds.get(key))}
    phases = run.metrics.get("phases")
    if first := _first_steps(run, parts["training"]):
        parts["training"] -= first
        parts["preparation"] = parts.get("preparation", 0.0) + first
    waited = phases.get("wait") if isinstance(phases, Mapping) else None
    if isinstance(waited, list) and waited and all(map(_seconds, waited)):
        waits = min(fmean(waited), parts["training"])
        parts = {"training": parts["training"] - waits, WAIT: waits} | {
            name: value for name, value in parts.items() if name != "training"
        }
    if run.started_at is not None and run.finished_at is not None:
        rest = run.finished_at - run.started_at - sum(parts.values())
        parts[REST] = max(rest, 0.0)
    return {name: value for name, value in parts.items() if value > 0}


def as_long_run(run: RunRecord | None) -> dict[str, float]:
    """A run's seconds in training and in evaluation, as a long run would divide them; empty where it doesn't tell.

    Training counts all steps at the measured steps' speed. The first steps compile, which takes as long as all others
    of a short run.
    """
    metrics: Mapping[str, Any] = run.metrics if run is not None else {}
    phases, steps = metrics.get("phases"), metrics.get("measured_steps")
    evaluate = (metrics.get("seconds") or {}).get("evaluate")
    if not isinstance(phases, Mapping) or not phases or not steps or not isinstance(evaluate, (int, float)):
        return {}
    longest = max(sum(of_rank) for of_rank in zip(*phases.values(), strict=True))
    train = longest / steps * (metrics.get("iterations") or steps)
    return {"train": train, "evaluate": float(evaluate)} if train > 0 else {}


def evaluation_share(run: RunRecord) -> float | None:
    """Evaluation's share of the time of training and evaluation, as in figure 9 of Rawat and Kapoor 2021. It depends
    neither on a process's start nor on the length of the training. None where a run doesn't tell."""
    parts = spent(run)
    work = sum(parts.get(name, 0.0) for name in ("training", WAIT, "evaluation"))
    return parts.get("evaluation", 0.0) / work if work > 0 else None


def _first_steps(run: RunRecord, trained: float) -> float:
    """Seconds of the first steps, which aren't measured: the seconds that the slowest rank `trained`, without its
    measured steps and the time to tell of all steps. 0 where the run doesn't tell."""
    phases, reporting_share = (run.metrics.get(name) for name in ("phases", "telling_share"))
    if not isinstance(phases, Mapping) or not _seconds(reporting_share):
        return 0.0
    seconds = list(phases.values())
    if not seconds or not all(isinstance(ranks, list) and all(map(_seconds, ranks)) for ranks in seconds):
        return 0.0
    measured = max(map(sum, zip(*seconds, strict=False)), default=0.0)
    return max(trained * (1 - min(reporting_share, 1.0)) - measured, 0.0) if measured else 0.0


def _seconds(value: Any) -> TypeGuard[float]:
    return number(value) and value >= 0


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
        "host": f"{timing.QUIET}; or leave that host out.",
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
    blames_messages = finding is not None and has_trained(facts) and timing.explained(facts)
    return _gradients(facts, finding.why) if blames_messages and finding is not None else finding


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
