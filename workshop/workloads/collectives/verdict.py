"""The verdict on measured messages and collectives: the latency of small ones, the bandwidth of large ones, and the
size from which bandwidth limits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from workshop.core import words
from workshop.extension import Verdict
from workshop.report.analysis.findings import Facts, Finding
from workshop.workloads.allreduce.verdict import CHECKS, AllReduceCurve, curves, message, rate

STREAMS = ("bandwidth", "bidirectional")  # with many messages on the way
HEADINGS = ("Operation", "Smallest", "Largest", "Bandwidth", "Half of its best from", "Algorithm")
MOST = 3  # names in a sentence


def summary(curve: AllReduceCurve, chosen: Sequence[Sequence[str]]) -> list[str]:
    """A row below `HEADINGS`; `chosen` are the algorithms that the MPI may have chosen, by size."""
    ends = [words.seconds(curve.seconds[end]) for end in (0, -1)]
    bandwidth = [rate(curve.algorithm[-1]), message(curve.half_bandwidth_size)] if curve.sizes[-1] else ["", ""]
    return [curve.method, *ends, *bandwidth, by_size(curve.sizes, chosen) if chosen else ""]


def by_size(sizes: Sequence[int], chosen: Sequence[Sequence[str]]) -> str:
    """The algorithms that the MPI may have chosen, with the size from which on: ring or bruck; pipeline from 16 KiB."""
    texts: list[str] = []
    for number, names in enumerate(chosen):
        if number == 0 or names != chosen[number - 1]:
            more = [f"{len(names) - MOST} more"] if len(names) > MOST else []
            text = words.listed([*names[:MOST], *more], "or") or "no name fits"
            texts.append(f"{text} from {message(sizes[number])}" if number else text)
    return "; ".join(texts)


def measured(facts: Facts) -> Finding | None:
    """The result of a run that measured messages or collectives; None for any other run."""
    curve_of: Mapping[str, Any] = {curve.method: curve for curve in curves(facts.metrics, facts.ranks)}
    if not curve_of:
        return None
    first = curve_of.get("latency") or next(iter(curve_of.values()))
    stream = curve_of.get("bandwidth") or first
    small, least, half = words.seconds(first.seconds[0]), message(first.sizes[0]), message(first.half_bandwidth_size)
    if facts.ranks == 1 or first.method == "barrier":
        verdict = "One rank alone has nothing to exchange." if facts.ranks == 1 else f"A barrier takes {small}."
        why = "It has no data." if first.method == "barrier" else f"A {first.method} of {least} takes {small}."
        return Finding(verdict, why, f"Try {words.ranks(2 * facts.ranks)}, and predict the time.")
    chosen = facts.metrics.get("algorithms") or {}
    algorithms = [
        f" Messages of {name} are as in {by_size(first.sizes, chosen[name])}." for name in chosen if name != "barrier"
    ]
    return Finding(
        f"Latency limits below {half}, bandwidth above: {least} take {small}, {message(stream.sizes[-1])} move at "
        f"{rate(stream.algorithm[-1])}.",
        f"The operation {first.method} takes {words.seconds(first.seconds[-1])} for {message(first.sizes[-1])}, and "
        f"reaches half of its best bandwidth at {half}.{''.join(algorithms)}",
        f"Put small messages together: each costs {small}. Then try another MPI (--mpi mpich), and predict both.",
    )


VERDICT = Verdict(measured, checks=lambda facts: CHECKS)
