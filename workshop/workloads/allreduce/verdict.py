"""The verdict on measured messages and collectives: below which size latency counts, above which size bandwidth counts,
and how methods of an all-reduce differ."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeGuard

from workshop.core import words
from workshop.extension import Verdict
from workshop.report import verdict
from workshop.report.analysis import placement, timing
from workshop.report.analysis.findings import Facts, Finding

NAMES = {
    "ring": "the ring in Python",
    "own": "the MPI's own",
    "horovod": "Horovod",
    "parameter-server": "the parameter server",
}
STREAMS = ("bandwidth", "bidirectional")  # operations with many messages on the way
MOST = 3  # names of algorithms in a sentence
DISTURBED = 3.0  # times as long as at best, from which a measured time is worth little
SAME = 1.1  # times from which one method counts as slower than another


@dataclass(frozen=True)
class AllReduceCurve:
    """Seconds of an all-reduce's method, or of an operation, by message size in bytes, the smallest first. `source` is
    the MPI or run where several are compared."""

    method: str
    sizes: tuple[int, ...]
    seconds: tuple[float, ...]
    ranks: int
    source: str = ""

    @property
    def algorithm(self) -> tuple[float, ...]:
        """Bytes per second, as the caller of the all-reduce sees it."""
        return tuple(size / took for size, took in zip(self.sizes, self.seconds, strict=True))

    @property
    def bus(self) -> tuple[float, ...]:
        """Bytes per second that each rank has to send at least in an all-reduce: times 2 (n - 1) / n (NVIDIA,
        nccl-tests, doc/PERFORMANCE.md). It compares with memory's or a link's bandwidth, for any number of ranks. For
        another operation, bytes per second as its caller sees it."""
        factor = 2 * (self.ranks - 1) / self.ranks if self.method in NAMES or self.ranks == 1 else 1
        return tuple(rate * factor for rate in self.algorithm)

    @property
    def half_bandwidth_size(self) -> int:
        """The message size from which on half of the best bandwidth is reached (Hockney's n½, The science of computer
        benchmarking, SIAM 1996): below it latency counts, above it bandwidth."""
        best = max(self.algorithm)
        return next(size for size, rate in zip(self.sizes, self.algorithm, strict=True) if rate >= best / 2)


def curves(metrics: Mapping[str, Any], ranks: int) -> list[AllReduceCurve]:
    """The curves of a run; empty where it measured none, or says so in no form that can be read."""
    sizes, seconds = metrics.get("sizes"), metrics.get("seconds")
    if not isinstance(sizes, Sequence) or not isinstance(seconds, Mapping):
        return []
    return [
        AllReduceCurve(method, tuple(sizes[: len(took)]), tuple(took), ranks)
        for method, took in seconds.items()
        if isinstance(took, Sequence) and took and all(_positive(value) for value in took)
    ]


def disturbed(facts: Facts) -> Finding | None:
    """The finding for messages of one size that took very different times."""
    recorded = facts.metrics.get("spread")
    spreads = recorded if isinstance(recorded, Mapping) else {}
    worst = max(
        (
            (spread, curve, size, took)
            for curve in curves(facts.metrics, facts.ranks)
            for spread, size, took in zip(spreads.get(curve.method) or (), curve.sizes, curve.seconds, strict=False)
            if _positive(spread)
        ),
        key=lambda candidate: candidate[0],
        default=None,
    )
    if worst is None or worst[0] < DISTURBED:
        return None
    spread, curve, size, took = worst
    name = NAMES.get(curve.method, curve.method)
    return Finding(
        f"The measurement was disturbed: the same message took up to {words.quantity(spread)} times as long.",
        f"With {name}, {message(size)} took {words.seconds(took)} in its quicker repeats, and "
        f"{words.seconds(spread * took)} at other times.",
        f"{timing.QUIET}.",
    )


# What else can be wrong with a run that measures nothing but all-reduces.
CHECKS = (placement.on_one_host, placement.oversubscribed, timing.delayed, disturbed, placement.unbound)


def measured(facts: Facts) -> Finding | None:
    """The result of a run that measured messages or collectives; None for any other run."""
    curve_of = {curve.method: curve for curve in curves(facts.metrics, facts.ranks)}
    if not curve_of:
        return None
    chosen = curve_of.get("own") or curve_of.get("latency") or next(iter(curve_of.values()))
    stream = curve_of.get("bandwidth") or chosen
    small, large = words.seconds(chosen.seconds[0]), words.seconds(chosen.seconds[-1])
    least, most = message(chosen.sizes[0]), message(chosen.sizes[-1])
    name = NAMES.get(chosen.method, chosen.method)
    if facts.ranks == 1:
        return Finding(
            "One rank alone has nothing to exchange.",
            f"With {name} a call takes {small} for {least} and {large} for {most}.",
            f"Try {words.ranks(2)}: what does each message cost then?",
        )
    if chosen.method == "barrier":
        return Finding(
            f"A barrier takes {small}.", "It has no data.", f"Try {words.ranks(2 * facts.ranks)}, and predict the time."
        )
    half = message(chosen.half_bandwidth_size)
    if chosen.half_bandwidth_size == chosen.sizes[0]:
        bound = f"Bandwidth-bound from {half} on"
    else:
        bound = f"Latency-bound below {half}, bandwidth-bound above"
    why = [
        f"{words.capital(name)} takes {small} for {least}; {most} take {large}, {rate(chosen.bus[-1])}"
        f"{' of bus bandwidth' if chosen.method in NAMES else ''}"
        f"{_beside_a_copy(facts, chosen)}.",
        f"From {half} on it reaches half of its best bandwidth.",
        *_compared(curve_of, chosen),
        *_left_out(facts),
        *_algorithms(facts, chosen.sizes),
    ]
    return Finding(
        f"{bound}: {least} take {small}, {message(stream.sizes[-1])} move at {rate(stream.bus[-1])}.",
        " ".join(why),
        f"Exchange in messages of {half} or more where you can: many small ones cost {small} each. "
        "Then try another MPI (--mpi mpich), or more ranks than cores, and predict which of the two figures changes.",
    )


def _beside_a_copy(facts: Facts, curve: AllReduceCurve) -> str:
    link, memory = facts.metrics.get("link_bandwidth"), facts.metrics.get("memory_bandwidth")
    if _positive(link):
        return f", {words.percent(curve.bus[-1] / link)} of what a rank sends to another meanwhile, measured by itself"
    if _positive(memory):
        return f", {words.percent(curve.bus[-1] / memory)} of what a rank copies in memory, measured by itself"
    return ""


def _compared(curve_of: Mapping[str, AllReduceCurve], chosen: AllReduceCurve) -> list[str]:
    """How the other methods do against one, at both ends."""
    sentences = []
    for method, curve in curve_of.items():
        if method == chosen.method or method not in NAMES or curve.sizes != chosen.sizes:
            continue
        ends = [_times(curve.seconds[end] / chosen.seconds[end]) for end in (0, -1)]
        ratios = f"{ends[0]} for the smallest message and {ends[1]} for the largest"
        name, other = (NAMES.get(key, key) for key in (method, chosen.method))
        sentences.append(f"{words.capital(name)} is {ratios}, compared with {other}.")
    return sentences


def _times(ratio: float) -> str:
    if ratio >= SAME:
        return f"{words.quantity(ratio)} times as slow"
    return "as fast" if ratio > 1 / SAME else f"{words.quantity(1 / ratio)} times as fast"


def _left_out(facts: Facts) -> list[str]:
    left_out = facts.metrics.get("left_out")
    reasons = left_out if isinstance(left_out, Mapping) else {}
    return [f"{words.capital(NAMES.get(name) or name)} was left out: {why}." for name, why in reasons.items()]


def _algorithms(facts: Facts, sizes: Sequence[int]) -> list[str]:
    recorded = facts.metrics.get("algorithms")
    by_name = recorded if isinstance(recorded, Mapping) else {}
    return [
        f"Messages of {NAMES.get(name, name)} are as in {by_size(sizes, by_name[name])}."
        for name in by_name
        if name != "barrier"
    ]


def by_size(sizes: Sequence[int], chosen: Sequence[Sequence[str]]) -> str:
    """The algorithms that the MPI may have chosen, with the size from which on: ring or bruck; pipeline from 16 KiB."""
    texts: list[str] = []
    for number, names in enumerate(chosen):
        if number == 0 or names != chosen[number - 1]:
            more = [f"{len(names) - MOST} more"] if len(names) > MOST else []
            text = words.listed([*names[:MOST], *more], "or") or "no name fits"
            texts.append(f"{text} from {message(sizes[number])}" if number else text)
    return "; ".join(texts)


def message(count: int) -> str:
    """The size of a message, in powers of two: 4 B, 64 KiB, 16 MiB."""
    for power, unit in ((20, "MiB"), (10, "KiB")):
        if count >= 1 << power:
            return f"{count / (1 << power):.4g} {unit}"
    return f"{count} B"


def rate(bytes_per_second: float) -> str:
    """A bandwidth: 3.61 GB/s."""
    return f"{words.size(bytes_per_second)}/s"


def _positive(value: Any) -> TypeGuard[float]:
    return isinstance(value, int | float) and math.isfinite(value) and value > 0


VERDICT = Verdict(measured, checks=lambda facts: CHECKS if curves(facts.metrics, facts.ranks) else verdict.CHECKS)
