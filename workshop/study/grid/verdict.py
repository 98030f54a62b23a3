"""The verdict of a grid, with why and next. Pure.

It names a winner only if the repeats show one. Cells whose ranges overlap may be equally fast, and of cells with less
than three runs it can't tell. It also says how much each axis matters.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from workshop.core import words
from workshop.core.errors import BadInput
from workshop.extension import Workload
from workshop.report.activity import SEED
from workshop.store.records import RunRecord, StudyRecord, Trial
from workshop.study import results
from workshop.study.results import CellResult, cell_effects

LISTED = 3  # cells that a sentence names
REPEATS = 100  # most runs of a cell
MOST_BEST = 9  # cells that it advises to repeat


def verdict(cells: Sequence[CellResult], unit: str, finished: bool, command: str = "") -> dict[str, str]:
    """Verdict, why and next. `command` runs the best cell."""
    measured, order = results.ranked(cells), results.enough(cells)
    if len(measured) < 2:
        return _too_little(cells, measured, unit, finished)
    best, usual = measured[0], results.noise(cells)
    most, least = ("fastest", "slowest") if unit.endswith("/s") else ("best", "worst")
    why, tied = [_reached(best, unit)], measured
    if len(order) < 2 or order[0] is not best:
        sentence = (
            f"{words.capital(best.label)} reached the most, {_rate(best, unit)}; can't tell whether it is the {most}, "
            f"which takes {results.ENOUGH} runs of each."
        )
    else:
        tied, second, worst = results.ties(order), order[1], order[-1]
        times = (best.median or 0.0) / (worst.median or 1.0)
        against = f"{worst.label}, reached {_rate(worst, unit)}{_between(worst)}: {times:.2f}× between them."
        if len(tied) == len(measured):
            sentence = f"Can't tell which is the {most}: all {len(order)} cells are within what repeats differ by."
        elif len(tied) > 1:
            names, more = [cell.label for cell in tied[1 : LISTED + 1]], len(tied) - 1 - LISTED
            others = words.listed([*names, f"{more} more"] if more > 0 else names)
            sentence = f"{words.capital(best.label)}: {_rate(best, unit)}; can't tell whether {others} can do as much."
            why.append(f"{_reached(second, unit)[:-1]}: the ranges overlap.")
        else:
            ahead = f"{(best.median or 0.0) / (second.median or 1.0):.2f}× the next, {second.label}"
            sentence = f"{words.capital(best.label)} is the {most}: {_rate(best, unit)}, {ahead}."
        why.append(f"The {least}, {against}")
    why += mattered(cells, usual) + _cautions(cells, measured)
    return {"verdict": sentence, "why": " ".join(why), "next": _next(tied, measured, finished, command)}


def mattered(cells: Sequence[CellResult], usual: float) -> list[str]:
    """A sentence on how much each of several axes makes by itself."""
    axis_effects = cell_effects(cells)
    if len(axis_effects) < 2:
        return []
    parts = [
        f"{effect.axis} {effect.factor:.2f}×" if effect.exceeds(usual) else f"{effect.axis} can't be told"
        for effect in axis_effects
    ]
    return [f"Between the worst and the best value of each, everything else being the same: {words.listed(parts)}."]


def _too_little(cells: Sequence[CellResult], order: Sequence[CellResult], unit: str, finished: bool) -> dict[str, str]:
    failed = [cell for cell in cells if cell.status == "failed"]
    going_on = "Mend that, then start the study again." if finished else "Let the study go on."
    if order:
        sentence = f"Only one cell was measured: {order[0].label}, {_rate(order[0], unit)}."
        why = " ".join(["A comparison takes two cells.", *_cautions(cells, [])])
        return {"verdict": sentence, "why": why, "next": "Vary more." if finished and not failed else going_on}
    if cells and len(failed) == len(cells):
        why = f"All {len(cells)} cells failed. {words.capital(failed[0].label)}: {failed[0].why.rstrip('.')}."
        return {"verdict": "Nothing could be measured.", "why": why, "next": going_on}
    why = " ".join(["No run has completed so far.", *_cautions(cells, [])])
    return {"verdict": "Nothing was measured yet.", "why": why, "next": going_on}


def _next(tied: Sequence[CellResult], order: Sequence[CellResult], finished: bool, command: str) -> str:
    if not finished:
        return "Let the study go on."
    if len(tied) == 1:
        return f"Use it: {command}" if command else "Use it."
    cells, repeats = min(len(tied), MOST_BEST), min(max(3 * max(len(cell.rates) for cell in order), 5), REPEATS)
    use = (
        f"Use it: {command} - or, to tell them apart," if command and len(tied) < len(order) else "To tell them apart,"
    )
    return (
        f"{use} run longer, or repeat the best more often, in a study's file: "
        f"best: {{cells: {cells}, repeats: {repeats}}}."
    )


def _cautions(cells: Sequence[CellResult], order: Sequence[CellResult]) -> list[str]:
    """Sentences on what the results don't show."""
    sentences = []
    few = sum(len(cell.rates) < results.ENOUGH for cell in order)
    if few:
        have = "has" if few == 1 else "have"
        sentences.append(
            f"{words.count(few, 'cell')} {have} less than {results.ENOUGH} runs, so chance isn't known there."
        )
    failed = [cell for cell in cells if cell.status == "failed"]
    if failed:
        sentences.append(f"{words.count(len(failed), 'cell')} failed; {failed[0].label}: {failed[0].why.rstrip('.')}.")
    pruned = sum(cell.status == "pruned" for cell in cells)
    if pruned:
        sentences.append(f"{words.count(pruned, 'cell')} ended early as hopeless.")
    return sentences


def _reached(cell: CellResult, unit: str) -> str:
    return f"{words.capital(cell.label)} reached {_rate(cell, unit)}{_between(cell)}."


def _between(cell: CellResult) -> str:
    if len(cell.rates) < 2:
        return ""
    return f" ({words.quantity(min(cell.rates))} to {words.quantity(max(cell.rates))} in {len(cell.rates)} runs)"


def _rate(cell: CellResult, unit: str) -> str:
    return f"{words.quantity(cell.median or 0.0)} {unit}"


_METRIC = re.compile(r"[a-z][a-z0-9_]{0,59}")


def metric(name: str) -> str:
    """The checked name of the metric to compare by. Raises BadInput."""
    if name and not _METRIC.fullmatch(name):
        raise BadInput(f"compare is {name[:60]!r}; it should be the name of a metric, such as held_out_accuracy.")
    return name


def check(workload: Workload, axes: Mapping[str, Any]) -> None:
    """Raises BadInput if repeats can't have different seeds."""
    if SEED not in workload.params.model_fields:
        raise BadInput(f"{workload.name} has no seed, so its repeats can't have one each; leave seeds out.")
    if SEED in axes:
        raise BadInput("seed is varied already, so repeats can't have one each; leave out one of the two.")


def seed_by_seed(
    texts: Mapping[str, str],
    cells: Sequence[CellResult],
    trials: Iterable[Trial],
    runs: Mapping[int, RunRecord],
    study: StudyRecord,
    command: str = "",
) -> dict[str, str]:
    """The verdict (`texts`) of a study whose repeats have seeds, with a comparison of the two best cells seed by seed.
    It can show a difference also where the ranges of the repeats overlap. `command` runs the best cell.
    """
    order = results.ranked(cells)
    pair = _paired(order[:2], trials, runs, study.description["rate"])
    if len(pair.pairs) < 2:
        return dict(texts)
    (best, second), number = order[:2], len(pair.pairs)
    why = (
        f"Seed by seed, {best.label} did better than {second.label} {pair.better} of {number} times, "
        f"by {words.quantity(pair.mean)} ± {words.quantity(results.standard_error(pair.differences) or 0.0)} on "
        "average (the mean's standard error)."
    )
    result = {**texts, "why": f"{why} {texts['why']}"}
    if pair.sure and pair.better == number and len(results.ties(results.enough(cells))) == 2:
        result["verdict"] = (
            f"{words.capital(best.label)} is better than {second.label} with every one of {number} seeds: "
            f"{words.quantity(best.median or 0.0)} against {_rate(second, study.description['unit'])}, at the median."
        )
        result["why"] = f"{why} By chance all {number} would agree once in {2 ** (number - 1)} times. {texts['why']}"
        if study.finished_at is not None and command:
            result["next"] = f"Use it: {command}"
    return result


def _paired(
    cells: Sequence[CellResult], trials: Iterable[Trial], runs: Mapping[int, RunRecord], rate: str
) -> results.Paired:
    """The values of two cells, for each seed with which both were measured."""
    values: dict[tuple[str, str], dict[int, float]] = defaultdict(dict)
    for trial in trials:
        if (value := results.rate_of(runs.get(trial.run_id or 0), rate)) is not None:
            values[results.cell_key(trial.label, trial.point)][trial.repeat] = value
    first, *others = (values[results.cell_key(cell.label, cell.point)] for cell in cells) if cells else ({},)
    other = others[0] if others else {}
    return results.Paired(tuple((first[repeat], other[repeat]) for repeat in sorted(first.keys() & other.keys())))
