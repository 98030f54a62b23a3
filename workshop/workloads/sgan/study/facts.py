"""The S-GAN's guided study: the facts that its rules need beyond those of any guided study, whether memory grows, and
the stages of the last step. Pure.

`steps.yaml` has the sentences.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from workshop.core import words
from workshop.core.forms import named
from workshop.core.placement import Placement
from workshop.registry import workload
from workshop.report.actions import run_command
from workshop.report.analysis.threads import KINDS, openmp_matters, openmp_why
from workshop.report.training.facts import as_long_run
from workshop.store.records import RunRecord
from workshop.study.guided.kind import kind
from workshop.study.guided.plan import Guide, Step, form
from workshop.study.guided.step_results import StepResults, base, naive, name, place
from workshop.study.results import CellResult, compare, gain
from workshop.study.trials import Cell

BEFORE, AFTER = "before", "after"  # the article's fault in evaluation, and its mended form
Order = Sequence[CellResult]  # the measured cells of a step, the fastest first; of the last step the last stage first
HOROVOD = ("short cycle", "no fusion")  # sets of settings that only Horovod reads
SHORTENED = ("iterations", "evaluate_every", "evaluate_images", "trace")  # params of a trial that real runs don't have


def facts(findings: StepResults, step: Step, order: Order) -> dict[str, Any]:
    """Further facts of a step."""
    by_step = {"a": _profile, "b": _openmp, "d": _ranks, "e": _memory, "f": _settings, "h": _evaluation, "i": _stages}
    return by_step[step.key](findings, order) if step.key in by_step else {}


@dataclass(frozen=True)
class ThreadCount:
    """All threads of one kind in a run's first rank."""

    kind: str
    count: int
    busy: int  # of which worked
    seconds: float  # of processors


def threads_of(run: RunRecord) -> list[ThreadCount]:
    """The threads of a run's first rank by kind, the most numerous first; empty if the run has no such metric."""
    census = run.metrics.get("threads") or [{}]
    kinds = [
        ThreadCount(kind, int(counts.get("count", 0)), int(counts.get("busy", 0)), float(counts.get("seconds", 0.0)))
        for kind, counts in census[0].items()
    ]
    return sorted((kind for kind in kinds if kind.count), key=lambda kind: (-kind.count, kind.kind))


def growth_of(findings: StepResults) -> dict[str, Growth]:
    """How resident memory grows with each way to ask the classifier."""
    by_way = {cell.point["inference"]: growth(findings.events(run.id)) for cell, run in findings.measured("e")}
    return {way: how for way, how in by_way.items() if how is not None}


def _profile(findings: StepResults, order: Order) -> dict[str, Any]:
    first, run = findings.at("a", cores=1), findings.run(findings.at("a", cores=1))
    if first is None or run is None:
        return {}
    census, free = threads_of(run), findings.at("a", cores=findings.setting.cores)
    return {
        "start": findings.speed(first),
        "threads": sum(kind.count for kind in census) or None,
        "busy": sum(kind.busy for kind in census),
        "kinds": [f"{kind.count} {KINDS.get(kind.kind, kind.kind)}" for kind in census],
        "parts": [f"{part} {words.seconds(spent)}" for part, spent in (run.metrics.get("seconds") or {}).items()],
        "memory": max(run.metrics.get("memory") or [0]),
        "all_cores": gain(free, first) or None,
        "doubt": _doubt(findings, free, first),
    }


def _openmp(findings: StepResults, order: Order) -> dict[str, Any]:
    outcomes = {openmp_matters(run) for _, run in findings.measured("b")} - {None}
    return {"worked": any(outcomes) if outcomes else None, "reason": _openmp_reason(findings, "b", "OMP_NUM_THREADS")}


def _ranks(findings: StepResults, order: Order) -> dict[str, Any]:
    if not order:
        return {}
    best, slowest, alone = order[0], order[-1].point, findings.at("d", ranks=1, threads=findings.setting.cores)
    return {
        "alone": gain(best, alone) if alone is not None and best is not alone else None,
        "crowded": slowest["ranks"] * slowest["threads"] > findings.setting.cores,
    }


def _memory(findings: StepResults, order: Order) -> dict[str, Any]:
    costs = [f"{cell.point['inference']} {words.seconds(seconds)}" for cell, seconds in evaluation_seconds(findings)]
    by_way = growth_of(findings)
    ways = [
        {"name": way}
        | {fact: getattr(how, fact) for fact in ("added", "uncertainty", "late", "grows", "steady", "climbs")}
        for way, how in by_way.items()
    ]
    predict = by_way.get("predict")
    return {
        "ways": ways or None,
        "each": [f"{way} {how.added / 1e6:+.1f} ± {how.uncertainty / 1e6:.1f} MB" for way, how in by_way.items()],
        "costs": costs,
        "growth": predict and predict.added / 1e6,
        "growth_margin": predict and max(predict.uncertainty / 1e6, 1.0),
    }


def _settings(findings: StepResults, order: Order) -> dict[str, Any]:
    plain, run = findings.at("f", settings="as found"), findings.run(findings.at("f", settings="as found"))
    if plain is None:
        return {}
    better = [cell for cell in order if findings.beats(cell, plain)]
    worse = [cell for cell in order if findings.beats(plain, cell)]
    comparisons = {name(cell): compare(cell, plain) for cell in order if cell is not plain}
    return {
        "plain": name(plain),
        "better": name(better[0]) if better else None,
        "times_better": gain(better[0], plain) if better else None,
        "worse": [f"{name(cell)} ({gain(cell, plain):.2f}×)" for cell in worse],
        "unsure": [name for name, comparison in comparisons.items() if comparison == "unsure"],
        "intel": comparisons.get("KMP_*, I_MPI_*"),
        "reason": _openmp_reason(findings, "f", "KMP_*"),
        "unread": run is not None and run.metrics.get("exchange") != "horovod",
        "unread_differ": any(name(cell) in HOROVOD for cell in (*better, *worse)),
    }


def _evaluation(findings: StepResults, order: Order) -> dict[str, Any]:
    most = max(cell.point["ranks"] for cell in findings.results("h"))
    before, after = (findings.at("h", evaluation=when, ranks=most) for when in (BEFORE, AFTER))
    times = {(cell.point["evaluation"], cell.point["ranks"]): as_long_run(run) for cell, run in findings.measured("h")}
    share = {at: seconds["evaluate"] / sum(seconds.values()) for at, seconds in times.items() if seconds}
    was, now = share.get((BEFORE, most)), share.get((AFTER, most))
    return {
        "ranks": most,
        "was": was,
        "now": now,
        "saved": compare(after, before) if before and after else None,
        "times_better": gain(after, before),
        "scaled_before": gain(before, findings.at("h", evaluation=BEFORE, ranks=1)),
        "scaled_after": gain(after, findings.at("h", evaluation=AFTER, ranks=1)),
        "share": 100 * was if was is not None else None,
        "share_margin": 5.0,
    }


def _stages(findings: StepResults, order: Order) -> dict[str, Any]:
    if len(order) < 2:
        return {}
    last, first = order[0], order[-1]
    sgan = workload(findings.guide.workload)
    params = {param: value for param, value in last.params.items() if param not in SHORTENED}
    return {
        "gave": [
            f"{name(cell)} {gain(cell, before):.2f}×{_doubt(findings, cell, before)}"
            for before, cell in pairwise(reversed(order))
        ],
        "start": findings.speed(first),
        "doubt": _doubt(findings, last, first),
        # For a run of the workload's usual length, not as short as a trial.
        "command": run_command(sgan, named(sgan.params, params), Placement.parse(last.placement)),
    }


def stages(findings: StepResults) -> list[Cell]:
    """The improvements of all steps, one on top of the other, from the naive start on, without those that made no
    difference beyond chance."""
    cores, step = findings.setting.cores, findings.guide.step
    changes = step("h").changes
    where, how = naive(cores), {**step("h").params, **changes[BEFORE]}
    cells: list[Cell] = []

    def add(key: str, stage: str, placement: Placement, **changed: Any) -> None:
        nonlocal where, how
        if not cells or placement != where or changed.items() - how.items():
            where, how = placement, {**how, **changed}
            point = {"stage": stage, "gave": key}
            cells.append(Cell(stage, base(findings.setting, where.ranks, **how), where.as_json(), point))

    add("", step("a").name(1), where)
    if cores > 1:
        add("a", step("a").name(cores), place(1, cores, cores))
    now = findings.at("a", cores=cores)
    for key, stage in {"c": "thread pools", "d": "ranks x threads"}.items():
        best = findings.best(key)
        if best is not None and (findings.beats(best, now) or (now is None and key == "d")):
            add(key, stage, Placement.parse(best.placement))
            now = best
    if where.ranks > 1:
        named_set, best = findings.best("f"), findings.best("d")
        if named_set is not None and findings.beats(named_set, findings.at("f", settings="as found")):
            way = {"exchange": "horovod"} if named_set.point["settings"] in HOROVOD else {}
            add("f", "settings", Placement.parse(named_set.placement), **way)
        other = findings.best("g")
        if other is not None and other.point["mpi"] != "openmpi" and findings.beats(other, named_set or best):
            add("g", step("g").name(other.point["mpi"]), Placement.parse(other.placement), exchange="mpi")
    costs = {cell.point["inference"]: seconds for cell, seconds in evaluation_seconds(findings)}
    add("e", "inference", where, inference=min(costs, key=lambda way: costs[way], default="compiled"))
    add("h", "evaluation", where, **changes[AFTER])
    return cells


def evaluation_seconds(findings: StepResults) -> list[tuple[CellResult, float]]:
    """The time of one evaluation for each way of inference."""
    seconds_by_cell = []
    for cell, run in findings.measured("e"):
        seconds, count = as_long_run(run), run.metrics.get("evaluations")
        if seconds and count and seconds["evaluate"]:
            seconds_by_cell.append((cell, seconds["evaluate"] / count))
    return seconds_by_cell


def _doubt(findings: StepResults, cell: CellResult | None, other: CellResult | None) -> str:
    return "" if compare(cell, other) == "apart" else ", which may be chance"


def _openmp_reason(findings: StepResults, step_key: str, variable: str) -> str:
    """The reason why an OpenMP variable has no effect, with the evidence of a run's threads."""
    evidence = next((run for _, run in findings.measured(step_key) if openmp_matters(run) is not None), None)
    return openmp_why(evidence, variable, f"run {evidence.id}" if evidence is not None else "")


GUIDE = Guide.read(__package__)
KIND = kind(GUIDE)
FORM = form(GUIDE)


WARM_UP = 1 / 3  # of the values, which say nothing
FEWEST = 8  # values that say something
EVALUATIONS = 100  # for which growth is told
GROWS = 0.01  # share of the initial memory: less growth over so many evaluations is no noticeable leak
STILL = 0.25  # of the whole slope, that the second half must have as well: pools that fill up slow down


@dataclass(frozen=True)
class Growth:
    """Resident memory of one process over its evaluations."""

    values: tuple[float, ...]  # bytes, after each evaluation
    added: float  # bytes that a hundred evaluations add
    uncertainty: float  # of that: twice the standard error
    late: float  # bytes that a hundred evaluations add in the second half

    @property
    def grows(self) -> bool:
        """Whether memory grows beyond chance and the filling of pools."""
        beyond = self.added > max(self.uncertainty, GROWS * self.values[0])
        return beyond and self.late > STILL * self.added

    @property
    def steady(self) -> bool:
        """Whether growth that would be noticed is ruled out."""
        return self.added + self.uncertainty <= GROWS * self.values[0]

    @property
    def climbs(self) -> bool:
        """Whether the slope is more than chance, however small it is."""
        return self.added > self.uncertainty


def growth(values: Sequence[float]) -> Growth | None:
    """The growth of resident memory [bytes after each evaluation]; None for too few values."""
    settled = list(values)[int(len(values) * WARM_UP) :]
    if len(settled) < FEWEST:
        return None
    slope, error = _line(settled)
    late, _ = _line(settled[len(settled) // 2 :])
    return Growth(tuple(values), EVALUATIONS * slope, EVALUATIONS * 2 * error, EVALUATIONS * late)


def _line(values: Sequence[float]) -> tuple[float, float]:
    """Slope per value and its standard error, of at least three values, by least squares.

    Neighbouring values depend on each other, so the usual standard error is too small. It is multiplied by
    sqrt((1 + r) / (1 - r)), where r is the correlation of neighbouring residuals (Santer et al., Statistical
    significance of trends and trend differences in layer-average atmospheric temperature time series, Journal of
    Geophysical Research 105(D6), 2000).
    """
    place = np.arange(len(values)) - (len(values) - 1) / 2
    rest = np.asarray(values) - np.mean(values)
    slope = float(place @ rest / (place @ place))
    rest = rest - slope * place
    squares = float(rest @ rest)
    correlation = min(max(float(rest[1:] @ rest[:-1]) / squares, 0.0), 0.95) if squares else 0.0
    variance = squares / (len(values) - 2) / float(place @ place)
    return slope, (variance * (1 + correlation) / (1 - correlation)) ** 0.5
