"""Repeats that differ in their seed: what is compared then is the work itself, such as how well it learns, and what
chance does there. Pure.

Cells are then compared seed by seed: with the same seed they have the same luck (the same images labelled, in the
S-GAN), which the ranges of their repeats have not. That all of n seeds favour the same one of two equal cells happens
once in 2^(n-1) times (the sign test: Conover, Practical nonparametric statistics, 1999, section 3.4).
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from statistics import fmean, stdev
from typing import Any

from workshop.core import words
from workshop.core.errors import BadInput
from workshop.extension import Workload
from workshop.store.records import RunRecord, StudyRecord, Trial
from workshop.study import results
from workshop.study.results import CellResult

SEED = "seed"
AGREED = 5  # seeds that all have to say the same before it is called sure
_METRIC = re.compile(r"[a-z][a-z0-9_]{0,59}")


def metric(given: str) -> str:
    """The name of a metric to compare by. Raises BadInput for what can't be one."""
    if given and not _METRIC.fullmatch(given):
        raise BadInput(f"compare is {given[:60]!r}; it should be the name of a metric, such as held_out_accuracy.")
    return given


def check(workload: Workload, axes: Mapping[str, Any]) -> None:
    """Raises BadInput where repeats can't have seeds of their own."""
    if SEED not in workload.params.model_fields:
        raise BadInput(f"{workload.name} has no seed, so its repeats can't have one each; leave seeds out.")
    if SEED in axes:
        raise BadInput("seed is varied already, so repeats can't have one each; leave out one of the two.")


def with_seeds(trials: Iterable[Trial], description: Mapping[str, Any]) -> list[Trial]:
    """The trials of a study, each round with the next seed where its description asks for that."""
    if not description.get("seeds"):
        return list(trials)
    first = description["params"][SEED]
    return [replace(trial, params={**trial.params, SEED: first + trial.repeat - 1}) for trial in trials]


def seed_by_seed(
    said: Mapping[str, str],
    cells: Sequence[CellResult],
    trials: Iterable[Trial],
    runs: Mapping[int, RunRecord],
    study: StudyRecord,
    command: str = "",
) -> dict[str, str]:
    """The verdict `said` of a study whose repeats have seeds, with how its two best cells compare seed by seed; these
    may tell them apart where the ranges of the repeats overlap. `command` runs the best cell."""
    order = results.ranked(cells)
    apart = _apart(order[:2], trials, runs, study.description["rate"])
    if len(apart) < 2:
        return dict(said)
    (best, second), number = order[:2], len(apart)
    better = sum(one > 0 for one in apart)
    why = (
        f"Seed by seed, {best.label} did better than {second.label} {better} of {number} times, by {fmean(apart):.3g} "
        f"± {stdev(apart) / math.sqrt(number):.2g} on average (the mean's standard error)."
    )
    found = {**said, "why": f"{why} {said['why']}"}
    if better == number >= AGREED and len(results.ties(cells)) == 2:
        found["verdict"] = (
            f"{words.capital(best.label)} is better than {second.label} with every one of {number} seeds: "
            f"{best.median:.3g} against {second.median:.3g} {study.description['unit']}, at the median."
        )
        found["why"] = f"{why} By chance all {number} would agree once in {2 ** (number - 1)} times. {said['why']}"
        if study.finished_at is not None and command:
            found["next"] = f"Use it: {command}"
    return found


def _apart(
    cells: Sequence[CellResult], trials: Iterable[Trial], runs: Mapping[int, RunRecord], rate: str
) -> list[float]:
    """By how much the first of two cells did better, for each seed with which both were measured."""
    told: dict[tuple[str, str], dict[int, float]] = defaultdict(dict)
    for trial in trials:
        if (value := results.rate_of(runs.get(trial.run_id or 0), rate)) is not None:
            told[results.cell_key(trial.label, trial.point)][trial.repeat] = value
    if len(cells) < 2:
        return []
    one, other = (told[results.cell_key(cell.label, cell.point)] for cell in cells)
    return [one[repeat] - other[repeat] for repeat in sorted(one.keys() & other.keys())]
