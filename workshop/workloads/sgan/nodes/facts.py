"""The guided study over hosts, and the facts that its rules need beyond those of any guided study. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from workshop.core import words
from workshop.core.memory import size
from workshop.study.guided.kind import kind
from workshop.study.guided.plan import Guide, Step, form
from workshop.study.guided.step_results import StepResults, name
from workshop.study.results import CellResult, gain, noise

OUT_OF_MEMORY = "OutOfMemory: "  # how a run that the session has ended for its memory begins to say why


def facts(findings: StepResults, step: Step, order: Sequence[CellResult]) -> dict[str, Any]:
    """Further facts of a step."""
    return {"a": _hosts, "b": _memory, "c": _ranks}[step.key](findings, step)


def _hosts(findings: StepResults, step: Step) -> dict[str, Any]:
    """How many times the images/s of one host the most hosts have, with the shortest and the longest compute."""
    most = max(step.vary["hosts"])
    named: dict[str, Any] = {}
    for label, seconds, fact in (
        ("short", min(step.vary["compute"]), "low"),
        ("long", max(step.vary["compute"]), "high"),
    ):
        several, single = (findings.at(step.key, compute=seconds, hosts=hosts) for hosts in (most, 1))
        named |= {label: seconds, fact: gain(several, single) or None, f"{label}_share": _exchange(findings, several)}
    return {"hosts": most, "speedup": named["low"], "speedup_margin": noise(findings.results(step.key)), **named}


def _exchange(findings: StepResults, cell: CellResult | None) -> str:
    """The share of the exchange, with waits for it, in the steps of a cell's ranks."""
    run = findings.run(cell)
    seconds = {phase: sum(by_rank) for phase, by_rank in run.metrics["phases"].items()} if run is not None else {}
    if not seconds:
        return "an unknown part"
    return words.percent((seconds["communicate"] + seconds["wait"]) / sum(seconds.values()))


def _private(findings: StepResults, cell: CellResult) -> float:
    """The most bytes that a rank of a cell has for itself; 0 if that was not measured."""
    run = findings.run(cell)
    return float(max((run.metrics.get("private_memory") if run is not None else None) or [0]))


def _memory(findings: StepResults, step: Step) -> dict[str, Any]:
    sizes = {name(cell): _private(findings, cell) for cell in findings.results(step.key)}
    most = max(sizes.values())
    return {
        "sizes": [f"{label} {size(count)}" for label, count in sizes.items()] if all(sizes.values()) else None,
        "largest": size(most),
        "memory": most / 2**20 or None,
    }


def _ranks(findings: StepResults, step: Step) -> dict[str, Any]:
    """The most ranks that a host holds, and the first number behind it whose ranks were ended."""
    by_ranks = sorted(findings.results(step.key), key=lambda cell: cell.point["ranks"])
    largest = next((cell for cell in reversed(by_ranks) if cell.rates), None)
    if largest is None:
        return {}
    behind = by_ranks[by_ranks.index(largest) + 1 :]
    memory_failure = next((cell for cell in behind if cell.why.startswith(OUT_OF_MEMORY)), None)
    return {
        "fit": largest.point["ranks"],
        "each": size(_private(findings, largest)),
        "more": memory_failure.point["ranks"] if memory_failure else None,
        "ended": memory_failure.why.removeprefix(OUT_OF_MEMORY) if memory_failure else None,
        "command": findings.guide.start,
    }


GUIDE = Guide.read(__package__)
KIND = kind(GUIDE)
FORM = form(GUIDE)
