"""Speed, measured side by side: the workshop and other programs take turns in one run, on the same data.

Each bench is a module of this package with a function `run`, whose parameters are the options of its command,
`python -m benchmarks NAME`. It returns a document: `machine`; `rows` of `{name, value, unit, low, high, repeats, …}`,
where a row without a value has a `note` that says why; `ratios` by name, and `intervals` of their medians. The command
holds the machine's measuring lock meanwhile, unless the module has `ALONE = False`.
"""

from __future__ import annotations

import math
import os
import platform
import statistics
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import metadata
from typing import Any, TypeVar

from workshop.core import topology

T = TypeVar("T")
Row = dict[str, Any]
Document = dict[str, Any]
CONFIDENCE = 0.95


def say(words: str) -> None:
    """Tell whoever waits, beside the result."""
    print(words, file=sys.stderr, flush=True)


def machine(packages: Sequence[str] = ()) -> dict[str, Any]:
    """Where it is measured: the host, its cores and memory, its load over the last minute, and versions."""
    versions = {"python": platform.python_version()} | {name: metadata.version(name) for name in packages}
    return topology.machine() | {"load": round(os.getloadavg()[0], 2), "versions": versions}


def interleaved(contenders: Mapping[str, Callable[[], T]], repeats: int, *, warm_up: int = 1) -> dict[str, list[T]]:
    """Let contenders take turns, so that what else the machine does meets all of them alike.

    Every second round goes backwards, so that neighbours are measured back to back in alternating order. The first
    `warm_up` rounds don't count. Returns `repeats` results of each contender.
    """
    results: dict[str, list[T]] = {name: [] for name in contenders}
    for number in range(warm_up + repeats):
        counts = number >= warm_up
        say(f"Round {number - warm_up + 1} of {repeats}." if counts else "Warm-up.")
        for name in list(contenders)[:: -1 if number % 2 else 1]:
            result = contenders[name]()
            if counts:
                results[name].append(result)
    return results


def interval(values: Sequence[float]) -> tuple[float, float]:
    """Where the median lies with a confidence of at least 95 %: the k-th lowest and the k-th highest of n values.

    k is the largest number for which 1 - 2 P(Binomial(n, 1/2) < k) is at least that, which holds for any distribution
    (Conover, Practical Nonparametric Statistics, 3rd edition, section 3.2): 2 for 9 values, with 96.1 %. Fewer than 6
    values can't tell that much; then it is from the lowest to the highest.
    """
    n, ordered = len(values), sorted(values)
    k, below = 0, 0.0  # below: P(Binomial(n, 1/2) <= k)
    while 1 - 2 * (below := below + math.comb(n, k) / 2**n) >= CONFIDENCE:
        k += 1
    k = max(k, 1)
    return ordered[k - 1], ordered[n - k]


def row(name: str, values: Sequence[float], unit: str, **facts: Any) -> Row:
    """The median of some values, with the lowest and the highest."""
    spread = {"low": min(values), "high": max(values), "repeats": len(values)}
    return {"name": name, "value": statistics.median(values), "unit": unit, **spread, **facts}


def missing(name: str, unit: str, note: str) -> Row:
    """A row for what could not be measured; the note says what would help."""
    return {"name": name, "value": None, "unit": unit, "note": note}


def ratio(name: str, ours: Sequence[float], others: Sequence[float], **facts: Any) -> Row:
    """The median of `ours` / `others`, round by round, with the `interval` of that median."""
    ratios = [our_value / other for our_value, other in zip(ours, others, strict=True)]
    low, high = interval(ratios)
    return row(name, ratios, "ratio", **facts) | {"low": low, "high": high}


def document(where: Mapping[str, Any], rows: Sequence[Row], figures: Mapping[str, float] | None = None) -> Document:
    """A bench's result. Its ratios are the rows of `ratio`, and `figures`, which have no interval."""
    compared = {line["name"]: line for line in rows if line["unit"] == "ratio"}
    ratios = {name: line["value"] for name, line in compared.items()} | dict(figures or {})
    intervals = {name: [line["low"], line["high"]] for name, line in compared.items()}
    return {"machine": dict(where), "rows": list(rows), "ratios": ratios, "intervals": intervals}
