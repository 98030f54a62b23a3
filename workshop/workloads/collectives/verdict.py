"""The verdict on measured messages and collectives: the latency of small ones, the bandwidth of large ones, and the size
from which bandwidth limits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from workshop.core import words
from workshop.extension import Verdict
from workshop.report import verdict
from workshop.report.analysis.findings import Facts, Finding
from workshop.workloads.allreduce.verdict import CHECKS, AllReduceCurve, message, rate

STREAMS = ("bandwidth", "bidirectional")  # with many messages on the way


def curves(metrics: Mapping[str, Any], ranks: int) -> list[AllReduceCurve]:
    """The curves of a run by operation, without the barrier, which has no sizes; empty for another workload's run."""
    sizes, seconds = metrics.get("sizes"), metrics.get("seconds")
    if not isinstance(sizes, Sequence) or not isinstance(seconds, Mapping) or "seconds_low" not in metrics:
        return []
    return [
        AllReduceCurve(name, tuple(sizes[: len(times)]), tuple(times), ranks)
        for name, times in seconds.items()
        if times and name != "barrier"
    ]


def rates(curves: Sequence[AllReduceCurve]) -> list[AllReduceCurve]:
    """The curves whose bandwidth is drawn: of many messages on the way where they were measured, else all. Their bus
    bandwidth is made the size by the time, as it is between two ranks."""
    streams = [curve for curve in curves if curve.method in STREAMS]
    return [replace(curve, ranks=2) for curve in streams or curves]


def by_size(sizes: Sequence[int], names: Sequence[Sequence[str]]) -> str:
    """The algorithms that may have been chosen, with the size from which each group is: ring or bruck; pipeline from
    16 KiB."""
    groups: list[tuple[int, Sequence[str]]] = []
    for size, group in zip(sizes, names, strict=False):
        if not groups or groups[-1][1] != group:
            groups.append((size, group))
    texts = [words.listed(group, "or") or "none of its names" for _, group in groups]
    return "; ".join([texts[0], *(f"{text} from {message(groups[n][0])}" for n, text in enumerate(texts[1:], 1))])


def measured(facts: Facts) -> Finding | None:
    """The result of a run that measured messages or collectives; None for any other run."""
    metrics = facts.metrics
    curve_of = {curve.method: curve for curve in curves(metrics, facts.ranks)}
    barrier = metrics["seconds"].get("barrier") if "seconds_low" in metrics else None
    ranks = words.count(facts.ranks, "rank")
    if not curve_of:
        if not barrier:
            return None
        took = words.seconds(barrier[0])
        return Finding(f"A barrier of {ranks} takes {took}.", "It has no data.", "Double the ranks, and compare.")
    first = curve_of.get("latency") or next(iter(curve_of.values()))
    stream = curve_of.get("bandwidth") or first
    least, most = message(first.sizes[0]), message(stream.sizes[-1])
    small, large = words.seconds(first.seconds[0]), rate(stream.algorithm[-1])
    if facts.ranks == 1:
        return Finding(
            "One rank alone has nothing to exchange.",
            f"A call of {first.method} takes {small} for {least}.",
            f"Try {words.ranks(2)}: what does each message cost then?",
        )
    why = [f"In {first.method}, {least} take {small}, and half of the best bandwidth is reached at {_half(first)}."]
    if stream is not first:
        why.append(f"With 64 messages on the way, {_half(stream)} reach half of the best bandwidth.")
    collectives = [curve for name, curve in curve_of.items() if name not in (*STREAMS, "latency")]
    if len(collectives) > 1:
        slowest = max(collectives, key=lambda curve: curve.seconds[-1])
        took = words.seconds(slowest.seconds[-1])
        why.append(f"Of the collectives, {slowest.method} takes longest: {took} for {message(slowest.sizes[-1])}.")
    for name, choices in metrics.get("algorithms", {}).items():
        if len(choices) > 1:
            why.append(f"{words.capital(name)} sends the messages of {by_size(metrics['sizes'], choices)}.")
    return Finding(
        f"Latency limits below {_half(first)}, bandwidth above: {least} take {small}, {most} move at {large}.",
        " ".join(why),
        f"Put small messages together: each costs {small}. Then try another MPI (--mpi mpich), and predict both figures.",
    )


def _half(curve: AllReduceCurve) -> str:
    return message(curve.half)


VERDICT = Verdict(measured, checks=lambda facts: CHECKS if "seconds_low" in facts.metrics else verdict.CHECKS)
