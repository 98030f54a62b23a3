"""Speed, measured side by side: ours and its peers interleaved in one run.

A bench is `{bench, machine, rows [{name, value, unit, …}], ratios {name: number}}`. A row without a value says in
`note` why, and what would give it one. A bench has a state folder of its own. So its runs are in nobody's history, and
the folder is always removed.
"""

from __future__ import annotations

import math
import os
import platform
import signal
import statistics
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import metadata
from pathlib import Path
from typing import Any, TypeVar

from workshop.core import config, topology

T = TypeVar("T")
CONFIDENCE = 0.95
Progress = Callable[[int, int], None]  # turns done, turns in all


def machine(packages: Sequence[str] = ()) -> dict[str, Any]:
    """Where it was measured: the host as runs know it, its load (1 minute) before, and the versions that matter."""
    versions = {"python": platform.python_version()} | {name: metadata.version(name) for name in packages}
    return topology.machine() | {"load": round(os.getloadavg()[0], 2), "versions": versions}


def interleaved(
    contenders: Mapping[str, Callable[[], T]],
    repeats: int,
    progress: Progress = lambda done, total: None,
    *,
    mirrored: bool = False,
    warm_up: int = 1,
) -> dict[str, list[T]]:
    """Let contenders take turns, so that what else the machine does meets all of them alike.

    The first `warm_up` rounds aren't kept. Every round begins with another contender; `mirrored` ones go there and
    back, so that neighbours are always measured back to back, in alternating order. Returns `repeats` results each.
    An interruption leaves the results of the rounds that are whole; without any, KeyboardInterrupt is passed on.
    """
    total = len(contenders) * (repeats + warm_up)
    names = list(contenders)
    results: dict[str, list[T]] = {name: [] for name in names}
    for number in range(repeats + warm_up):
        turn = number % max(len(names), 1)
        order = names[:: -1 if number % 2 else 1] if mirrored else names[turn:] + names[:turn]
        try:
            results_of_turn = {}
            for done, name in enumerate(order, number * len(names)):
                progress(done, total)
                results_of_turn[name] = contenders[name]()
        except KeyboardInterrupt:
            if number > warm_up:  # the document says that it was interrupted, since the last progress is not the whole
                return results
            raise
        if number >= warm_up:
            for name, result in results_of_turn.items():
                results[name].append(result)
    progress(total, total)
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


def row(name: str, values: Sequence[float], unit: str, **facts: Any) -> dict[str, Any]:
    """One line of a bench: the median of some values, with the lowest and the highest."""
    return {
        "name": name,
        "value": statistics.median(values),
        "unit": unit,
        "low": min(values),
        "high": max(values),
        "repeats": len(values),
        **facts,
    }


def missing(name: str, unit: str, note: str) -> dict[str, Any]:
    """A line for what could not be measured, with what would help."""
    return {"name": name, "value": None, "unit": unit, "note": note}


def ratio(name: str, ours: Sequence[float], others: Sequence[float]) -> dict[str, Any]:
    """A line that compares pairs measured back to back: the median of the pairs' ratios, and its `interval`."""
    ratios = [our_value / other for our_value, other in zip(ours, others, strict=True)]
    low, high = interval(ratios)
    return row(name, ratios, "ratio") | {"low": low, "high": high}


def document(
    bench: str,
    where: Mapping[str, Any],
    rows: Sequence[Mapping[str, Any]],
    ratios: Mapping[str, float],
    intervals: Mapping[str, Sequence[float]] | None = None,
) -> dict[str, Any]:
    """A whole bench as JSON; `intervals` of ratios, where they are known."""
    extra = {} if intervals is None else {"intervals": {name: list(ends) for name, ends in intervals.items()}}
    return {
        "bench": bench,
        "machine": dict(where),
        "rows": [dict(line) for line in rows],
        "ratios": dict(ratios),
        **extra,
    }


@contextmanager
def clean_end() -> Iterator[None]:
    """SIGTERM ends the block as Ctrl-C does, so its processes end and its files are removed. A second SIGTERM is
    ignored."""
    if threading.current_thread() is not threading.main_thread():
        yield  # only that thread hears of signals
        return

    def end(number: int, _: object) -> None:
        signal.signal(number, signal.SIG_IGN)
        sys.exit(128 + number)

    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        if signal.getsignal(signal.SIGTERM) is end:
            signal.signal(signal.SIGTERM, before)


@contextmanager
def own_state() -> Iterator[Path]:
    """State for this process and those it starts, in a folder that is removed at the end; then the user's again."""
    cache = config.cache_folder("numba")
    with clean_end(), tempfile.TemporaryDirectory(prefix="workshop-bench-") as folder, config.elsewhere(folder):
        # Compiled kernels are the user's: compiling them again would be what is measured.
        config.cache_folder("numba").rmdir()
        (config.home() / "cache" / "numba").symlink_to(cache)
        yield Path(folder)
