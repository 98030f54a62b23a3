"""How verdicts of steps speak: of cells, their rates and their differences. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from workshop.core import words
from workshop.report.analysis import openmp
from workshop.study.guided.found import Found
from workshop.study.guided.memory import Growth
from workshop.study.results import CellResult, ratio

Verdict = dict[str, str]
LONGEST = 120  # characters of a reason
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
    return f"{words.rate(one.median or 0.0)} {unit}"


def name(one: CellResult) -> str:
    """A cell without its step."""
    return one.label.partition(": ")[2]


def chance(found: Found) -> str:
    return f"repeats of one setting differ by {100 * found.chance.usual:.0f} %"


def openmp_worked(found: Found, step: str) -> bool | None:
    """Whether a thread of OpenMP worked in any of a step's runs; None where no run tells."""
    told = [openmp.matters(run) for one in found.results(step) if (run := found.run(one)) is not None]
    return True if True in told else False if False in told else None


def of_openmp(found: Found, step: str, variable: str) -> str:
    """Why a variable of OpenMP changes nothing, with what a run's threads show."""
    runs = [run for one in found.results(step) if (run := found.run(one)) is not None]
    told = next((run for run in runs if openmp.matters(run) is not None), None)
    return openmp.why(told, variable, f"run {told.id}" if told is not None else "")


def failures(found: Found, step: str) -> str:
    """Which of a step's cells failed, and why the first did, as a sentence; empty where none has."""
    failed = [one for one in found.results(step) if one.status == "failed" and one.why]
    return f"{words.listed(map(name, failed))} failed: {_short(failed[0].why)}" if failed else ""


def _short(why: str) -> str:
    """The beginning of a reason, which may be an MPI's whole page."""
    return why if len(why) <= LONGEST else f"{why[:LONGEST].rsplit(' ', 1)[0]} …"
