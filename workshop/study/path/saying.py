"""How verdicts of steps speak: of cells, their rates and their differences. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from workshop.analysis import words
from workshop.study.path.evidence import threads_of
from workshop.study.path.found import Found
from workshop.study.path.memory import Growth
from workshop.study.results import CellResult, ratio

Verdict = dict[str, str]
Grown = Mapping[str, Growth]  # by the way of inference


def said(verdict: str, why: str, following: str) -> Verdict:
    return {"verdict": verdict, "why": why, "next": following}


def at(found: Found, step: str, **point: Any) -> CellResult | None:
    """The measured cell of a step at that point."""
    return next(
        (
            one
            for one in found.results(step)
            if one.rates and all(one.point.get(name) == value for name, value in point.items())
        ),
        None,
    )


def times(one: CellResult | None, other: CellResult | None) -> float | None:
    """How many times as fast one is as the other."""
    found = ratio(one, other) if one is not None and other is not None else None
    return found.value if found else None


def speed(one: CellResult, unit: str) -> str:
    rate = one.median or 0.0
    return f"{words.thousands(rate) if rate >= 1000 else words.short(rate)} {unit}"


def name(one: CellResult) -> str:
    """A cell without its step."""
    return one.label.partition(": ")[2]


def chance(found: Found) -> str:
    return f"repeats of one setting differ by {100 * found.chance.usual:.0f} %"


def openmp_threads(found: Found, step: str) -> str:
    """What the census of a run says of OpenMP, as the end of a sentence."""
    for one in found.results(step):
        if (run := found.run(one)) is not None and (census := threads_of(run)):
            there = next((kind for kind in census if kind.kind == "openmp"), None)
            if there is None:
                return f": run {run.id} has no thread of OpenMP at all"
            return f": run {run.id} has {there.count} of OpenMP, of which {there.busy} worked"
    return ""
