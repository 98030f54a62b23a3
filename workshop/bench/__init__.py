"""Speed, measured side by side: ours and its peers interleaved in one run.

A bench is `{bench, machine, rows [{name, value, unit, …}], ratios {name: number}}`. A row without a value says in
`note` why, and what would give it one.
"""

from __future__ import annotations

import os
import platform
import statistics
from collections.abc import Callable, Mapping, Sequence
from importlib import metadata
from typing import Any, TypeVar

from workshop import topology

T = TypeVar("T")
Progress = Callable[[int, int], None]  # turns done, turns in all


def machine(packages: Sequence[str] = ()) -> dict[str, Any]:
    """Where it was measured: the host as runs know it, its load (1 minute) before, and the versions that matter."""
    versions = {"python": platform.python_version()} | {name: metadata.version(name) for name in packages}
    return topology.machine() | {"load": round(os.getloadavg()[0], 2), "versions": versions}


def interleaved(
    contenders: Mapping[str, Callable[[], T]], repeats: int, progress: Progress = lambda done, total: None
) -> dict[str, list[T]]:
    """Let contenders take turns, so that what else the machine does meets all of them alike.

    The first round warms up and isn't kept; every round begins with another contender. Returns `repeats` results each.
    """
    total = len(contenders) * (repeats + 1)
    names = list(contenders)
    results: dict[str, list[T]] = {name: [] for name in names}
    for number in range(repeats + 1):
        turn = number % max(len(names), 1)
        for done, name in enumerate(names[turn:] + names[:turn], number * len(names)):
            progress(done, total)
            result = contenders[name]()
            if number:
                results[name].append(result)
    progress(total, total)
    return results


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


def document(
    bench: str, where: Mapping[str, Any], rows: Sequence[Mapping[str, Any]], ratios: Mapping[str, float]
) -> dict[str, Any]:
    """A whole bench as JSON."""
    return {"bench": bench, "machine": dict(where), "rows": [dict(line) for line in rows], "ratios": dict(ratios)}
