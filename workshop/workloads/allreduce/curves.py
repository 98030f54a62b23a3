"""The curves of measured messages and collectives, and the facts of their verdict."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from workshop.core import words
from workshop.report.analysis.balance import Totals
from workshop.report.analysis.findings import Facts

NAMES = {
    "ring": "the ring in Python",
    "own": "the MPI's own",
    "horovod": "Horovod",
    "parameter-server": "the parameter server",
}
STREAMS = ("bandwidth", "bidirectional")  # operations with many messages on the way
MOST_NAMES = 3  # names of algorithms in a sentence


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
    def name(self) -> str:
        return NAMES.get(self.method, self.method)

    @property
    def is_all_reduce(self) -> bool:
        return self.method in NAMES

    @property
    def messages(self) -> tuple[str, str, str]:
        """The smallest, the largest and the one with half of the best bandwidth, in words."""
        return message(self.sizes[0]), message(self.sizes[-1]), message(self.half_bandwidth_size)

    @property
    def rate(self) -> str:
        """The bandwidth of the largest message, in words."""
        return rate(self.bus[-1])

    @property
    def half_bandwidth_size(self) -> int:
        """The message size from which on half of the best bandwidth is reached (Hockney's n½, The science of computer
        benchmarking, SIAM 1996): below it latency counts, above it bandwidth."""
        best = max(self.algorithm)
        return next(size for size, rate in zip(self.sizes, self.algorithm, strict=True) if rate >= best / 2)


def curves(metrics: Mapping[str, Any], ranks: int) -> list[AllReduceCurve]:
    """The curves of a run; empty where it measured none."""
    return [
        AllReduceCurve(method, tuple(metrics["sizes"][: len(took)]), tuple(took), ranks)
        for method, took in metrics.get("seconds", {}).items()
        if took
    ]


def facts(facts: Facts, totals: Totals) -> dict[str, Any]:
    """What a run measured; nothing for a run without curves."""
    metrics, by_method = facts.metrics, {curve.method: curve for curve in curves(facts.metrics, facts.ranks)}
    if not by_method:
        return {}
    chosen = by_method.get("own") or by_method.get("latency") or next(iter(by_method.values()))
    others = [curve for curve in by_method.values() if curve.method in NAMES and curve.sizes == chosen.sizes]
    left_out, algorithms = metrics.get("left_out") or {}, metrics.get("algorithms") or {}
    link, memory = metrics.get("link_bandwidth"), metrics.get("memory_bandwidth")
    return {
        "chosen": chosen,
        "stream": by_method.get("bandwidth") or chosen,
        "others": [
            {"name": curve.name, "times": [curve.seconds[end] / chosen.seconds[end] for end in (0, -1)]}
            for curve in others
            if curve is not chosen
        ],
        "of_link": chosen.bus[-1] / link if link else None,
        "of_memory": chosen.bus[-1] / memory if memory else None,
        "left_out": [{"name": NAMES.get(name, name), "why": why} for name, why in left_out.items()],
        "algorithms": [
            {"name": NAMES.get(name, name), "by_size": by_size(chosen.sizes, names)}
            for name, names in algorithms.items()
            if name != "barrier"
        ],
        "disturbed": _disturbed(metrics.get("spread") or {}, by_method.values()),
    }


def _disturbed(spreads: Mapping[str, Any], measured: Iterable[AllReduceCurve]) -> dict[str, Any] | None:
    """The message whose repeats differ most: how many times as long the longest took as the quicker ones."""
    spread_messages: list[dict[str, Any]] = [
        {"spread": spread, "name": curve.name, "message": message(size), "seconds": took}
        for curve in measured
        for spread, size, took in zip(spreads.get(curve.method) or (), curve.sizes, curve.seconds, strict=False)
    ]
    return max(spread_messages, key=lambda candidate: candidate["spread"], default=None)


def by_size(sizes: Sequence[int], chosen: Sequence[Sequence[str]]) -> str:
    """The algorithms that the MPI may have chosen, with the size from which on: ring or bruck; pipeline from 16 KiB."""
    texts: list[str] = []
    for number, names in enumerate(chosen):
        if number == 0 or names != chosen[number - 1]:
            more = [f"{len(names) - MOST_NAMES} more"] if len(names) > MOST_NAMES else []
            text = words.listed([*names[:MOST_NAMES], *more], "or") or "no name fits"
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
