"""The guided study for `workshop.study.guided`: its cells, its verdicts and the kind of study that they make."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from workshop.core import words
from workshop.study.guided.guide import Events, Guide, Step, Verdict
from workshop.study.guided.kind import kind
from workshop.study.guided.plan import form, place, points
from workshop.study.guided.step_results import StepResults, gain, name
from workshop.study.results import ranked
from workshop.study.trials import Cell
from workshop.workloads.processor.report import DEFAULT, OPTIMISED, SOURCE, instructions, remark, spent

START: Mapping[str, Any] = {"onednn": False, "intra": 1, "inter": 1, "layout": "nhwc", "precision": "float32"}


def cells(findings: StepResults, step: Step) -> list[Cell]:
    """The cells of a step, labelled without the step's name. Each differs by one switch from oneDNN on all cores."""
    if step.anew:
        return stages(findings)
    usual = {**START, "onednn": True, "intra": findings.setting.cores, **step.params}
    return [
        _cell(findings, step.label.format(*map(step.name, point.values())), {**usual, **point}, point)
        for point in points(findings, step)
    ]


def stages(findings: StepResults) -> list[Cell]:
    """The start, then on top of each other the switches that helped beyond chance."""
    switches = dict(START)
    stage_cells = [_cell(findings, "start", switches, {"stage": "start", "gave": ""})]
    for step in findings.guide.steps:
        axis = next(iter(step.vary), "")
        if axis not in switches:
            continue
        best = findings.best(step.key)
        if best is not None and findings.beats(best, findings.at(step.key, **{axis: switches[axis]})):
            switches = {**switches, axis: best.point[axis]}
            stage = name(best)
            stage_cells.append(_cell(findings, f"+ {stage}", switches, {"stage": stage, "gave": step.key}))
    return stage_cells


def judge(findings: StepResults, step_key: str, events: Events) -> Verdict | None:
    """The verdict of a step: its best cell against its worst one, or its last stage against the first. None if it
    hasn't measured enough."""
    step = findings.guide.step(step_key)
    if len(findings.results(step_key)) == 1 and findings.done(step_key):
        return step.judge("single", cell=name(findings.results(step_key)[0]))
    measured = [cell for cell in findings.results(step_key) if cell.rates]
    if len(measured) < 2 or (step.anew and measured[0].point["gave"]):
        return None
    best, *_, worst = reversed(measured) if step.anew else ranked(measured)
    kernels = []
    for cell in (best, worst):
        run = findings.run(cell)
        if run is None:
            continue
        if sentence := spent(run.metrics):
            kernels.append(f"For {name(cell).removeprefix('+ ')}, {sentence[0].lower()}{sentence[1:]}")
        kernels.append(remark(run.params, run.metrics))
        if cell is worst and "precision" in step.vary:
            kernels.append(instructions(run.metrics))
    verdict = step.judge(
        findings.compare(best, worst),
        best=name(best).removeprefix("+ "),
        worst=name(worst),
        gain=gain(best, worst),
        speed=f"{words.quantity(best.median or 0.0)} {findings.setting.unit}",
        chance=f"repeats of one setting differ by {100 * findings.chance.usual:.0f} %",
        kernels=" ".join(kernels),
        failures=findings.failures(step_key),
        published=OPTIMISED / DEFAULT,
    )
    return {part: " ".join(text.split()) for part, text in verdict.items()}


def _cell(findings: StepResults, label: str, switches: Mapping[str, Any], point: Mapping[str, Any]) -> Cell:
    cores = findings.setting.cores
    return Cell(label, {**findings.setting.params, **switches}, place(1, cores, cores).as_json(), dict(point))


GUIDE = Guide.read(
    __package__,
    source=SOURCE,
    cells=cells,
    judge=judge,
    figures="workshop.workloads.processor.study.cards:FIGURES",
)
KIND = kind(GUIDE)
FORM = form(GUIDE)
