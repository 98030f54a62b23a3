"""The guided study of one processor: the facts that its rules need beyond those of any guided study, and the stages of
the last step. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from workshop.study.guided.kind import kind
from workshop.study.guided.plan import Guide, Step, form
from workshop.study.guided.step_results import StepResults, base, name, place
from workshop.study.results import CellResult
from workshop.study.trials import Cell
from workshop.workloads.processor.report import DEFAULT, OPTIMISED, instructions, remark, spent

START = {"onednn": False, "intra": 1, "inter": 1, "layout": "nhwc", "precision": "float32"}


def facts(findings: StepResults, step: Step, order: Sequence[CellResult]) -> dict[str, Any]:
    """Where the time of the best and of the worst cell went, and the published gain."""
    kernels = []
    for cell in (order[0], order[-1]) if len(order) > 1 else ():
        run = findings.run(cell)
        if run is not None:
            if sentence := spent(run.metrics):
                kernels.append(f"For {name(cell).removeprefix('+ ')}, {sentence[0].lower()}{sentence[1:]}")
            kernels.append(remark(run.params, run.metrics))
            if cell is order[-1] and "precision" in step.vary:
                kernels.append(instructions(run.metrics))
    return {"kernels": " ".join(filter(None, kernels)), "published": OPTIMISED / DEFAULT}


def stages(findings: StepResults) -> list[Cell]:
    """The start, then on top of each other the switches that helped beyond chance."""
    switches: dict[str, Any] = dict(START)
    cells: list[Cell] = []

    def add(label: str, stage: str, key: str) -> None:
        cores = findings.setting.cores
        where = place(1, cores, cores).as_json()
        cells.append(Cell(label, base(findings.setting, **switches), where, {"stage": stage, "gave": key}))

    add("start", "start", "")
    for step in findings.guide.steps:
        axis = next(iter(step.vary), "")
        best = findings.best(step.key) if axis in switches else None
        if best is not None and findings.beats(best, findings.at(step.key, **{axis: switches[axis]})):
            switches[axis] = best.point[axis]
            add(f"+ {name(best)}", name(best), step.key)
    return cells


GUIDE = Guide.read(__package__)
KIND = kind(GUIDE)
FORM = form(GUIDE)
