"""The verdict on a cut: the same weights as one process, the bytes that it cost, the memory that it saved, and the
stage that waited."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from workshop.core import words
from workshop.extension import Observations, Verdict
from workshop.report import verdict
from workshop.report.analysis import placement, timing
from workshop.report.analysis.balance import Totals
from workshop.report.analysis.findings import Facts, Finding
from workshop.workloads.parallel.failures import failure_of

# Largest relative differences from one process that rounding explains. Adam divides by the size of a gradient, so a
# weight without a gradient moves by its rounding error; in 32 bits that is visible.
TOLERANCES: Mapping[str, float] = {"float64": 1e-9, "float32": 0.1}
MANY_IDLE = 0.25  # share of a pipeline's time from which the bubble is the first thing to say
UNEQUAL = 1.3  # times as much work in the slowest stage as in the mean


def outcome(facts: Facts) -> Finding | None:
    """The outcome of a cut; None without its metrics."""
    metrics, params = facts.metrics, facts.run.params
    if "bytes_per_step" not in metrics:
        return None
    if params.get("fault", "none") != "none" and (broken := failure_of(params["fault"])):
        return Finding(f"{broken.title}.", f"{broken.shows} {_exactness(metrics, params)}", broken.fix)
    idle = metrics.get("idle")
    why = " ".join(filter(None, (_exactness(metrics, params), _traffic(metrics), _memory(metrics))))
    if idle is not None and idle >= MANY_IDLE:
        return _bubble(facts, idle, why)
    rate = f"{words.capital(str(metrics['grid']))}: {words.quantity(metrics['rate'])} examples/s"
    if metrics["bytes_difference"] == metrics["calls_difference"] == 0:
        rate += ", with exactly the bytes of the formula"
    return Finding(f"{rate}.", why, _following(facts))


def _exactness(metrics: Mapping[str, Any], params: Mapping[str, Any]) -> str:
    difference, precision = metrics.get("weights_difference"), str(params.get("precision", "float64"))
    if difference is None:
        return "The weights were not compared with those of one process."
    if not difference:
        return "The weights are those of one process, bit for bit."
    size = words.quantity(difference)
    if difference <= TOLERANCES[precision]:
        reason = "rounding in another order" if precision == "float64" else f"rounding in {precision}, which adds up"
        return f"The weights differ from those of one process by {size} at most, relative: {reason}."
    return f"The weights differ from those of one process by {size}, relative, which rounding doesn't explain."


def _traffic(metrics: Mapping[str, Any]) -> str:
    ranks = metrics.get("traffic") or []
    calls = sum(count for rank in ranks for count, _ in rank.values())
    if not calls:
        return "Nothing was exchanged."
    return f"A step takes {words.count(calls, 'call')} of all ranks and {words.size(metrics['bytes_per_step'])}."


def _memory(metrics: Mapping[str, Any]) -> str:
    """The rank that needs most, and what it needs it for."""
    ledgers: Sequence[Mapping[str, int]] = metrics.get("memory_counted") or []
    if not ledgers:
        return ""
    rank = max(range(len(ledgers)), key=lambda number: sum(ledgers[number].values()))
    use = max(ledgers[rank], key=lambda name: ledgers[rank][name])
    total = sum(ledgers[rank].values())
    return (
        f"Rank {rank} needs the most memory, {words.size(total)}, of which {words.percent(ledgers[rank][use] / total)} "
        f"are {use}."
    )


def _bubble(facts: Facts, idle: float, why: str) -> Finding:
    metrics, params = facts.metrics, facts.run.params
    work = [float(seconds) for seconds in metrics.get("rank_seconds") or []]
    slowest = max(range(len(work)), key=work.__getitem__) if work else 0
    predicted = f"The schedule predicts {words.percent(metrics['expected_idle'])} for these times of work."
    if facts.crowds and not metrics.get("paced"):
        return Finding(
            f"The stages idle for {words.percent(idle)} of the time, and take turns on the cores.",
            f"There are {words.count(facts.cores, 'core')} for {words.count(facts.ranks, 'rank')}, so times "
            f"don't show which stage has the most work. {why}",
            f"Try {words.ranks(facts.fitting)}, so that each has a core, or pace the stages (--pace 0.05).",
        )
    if work and work[slowest] > UNEQUAL * sum(work) / len(work):
        return Finding(
            f"The stages idle for {words.percent(idle)} of the time: rank {slowest} has the most work.",
            f"Rank {slowest} works for {words.seconds(work[slowest])} on each micro-batch, the mean is "
            f"{words.seconds(sum(work) / len(work))}. {predicted} {why}",
            "Give each stage about the same work: leave the layers of each part to the workshop (--layers '')."
            if params.get("layers")
            else f"Give rank {slowest} fewer layers: --layers has the number of each part's, such as 7,3.",
        )
    if params.get("schedule") == "naive":
        return Finding(
            f"The stages idle for {words.percent(idle)} of the time: only one stage works at any time.",
            f"The naive schedule begins a micro-batch when the one before it has come back. {predicted} {why}",
            "Take another schedule (--schedule 1f1b): more micro-batches don't help the naive one.",
        )
    micro = int(params.get("micro_batches") or 4)
    return Finding(
        f"The stages idle for {words.percent(idle)} of the time: the pipeline fills and empties.",
        f"{predicted} {why}",
        f"Divide the batch into more parts (--micro-batches {2 * micro}), or take another schedule: which one is best?",
    )


def _following(facts: Facts) -> str:
    if facts.ranks == 1:
        return f"Divide it: try {words.ranks(2)}, and predict how many bytes a step exchanges."
    params = facts.run.params
    if not params.get("zero") and "data" in str(facts.metrics.get("grid")):
        return "Divide what all ranks hold alike (--zero 3), and predict the memory and the bytes."
    return "Take another cut of the same ranks, and predict which of bytes, memory and idle time gets worse."


def _observe(facts: Facts, totals: Totals) -> Observations:
    metrics = facts.metrics
    remarks = []
    if metrics.get("dropped"):
        remarks.append(f"No expert had a place for {words.count(metrics['dropped'], 'character')}: raise the capacity.")
    if metrics.get("paced"):
        remarks.append("The stages were paced: they waited without holding a core, so seconds say nothing of speed.")
    return Observations(remarks=remarks)


def _checks(facts: Facts) -> Sequence[Callable[[Facts], Finding | None]]:
    """Stages of a pipeline wait for each other by design, so only their placement is checked."""
    in_stages = facts.metrics.get("idle") is not None or "pipeline" in str(facts.run.params.get("cut"))
    return (
        (placement.on_one_host, placement.oversubscribed, timing.delayed, placement.unbound)
        if in_stages
        else verdict.CHECKS
    )


VERDICT = Verdict(outcome, first=True, checks=_checks, observe=_observe)
