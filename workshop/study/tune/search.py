"""Which trial is next. Pure: the same trials and the same seed give the same decision, so that a study goes on after a
crash as if nothing had happened.

A search begins with what is known to be good, and with the naive start, which everything is measured by. Then each
value of each knob gets a chance, at the best placement so far: a handful of trials tells what a knob by itself is
worth. Then Optuna's tree-structured Parzen estimator says what to try of what is left, with all knobs considered
together. At the end the best are measured again, in turn with the naive start: the largest of many noisy values is
mostly one that was lucky.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from workshop.store.records import RunRecord, Trial
from workshop.study.grid.sampler import propose
from workshop.study.kinds import Sofar
from workshop.study.results import results
from workshop.study.trials import Cell, interleave
from workshop.study.tune.costs import length, measured, most_ranks, spent, usual
from workshop.study.tune.space import Point, key
from workshop.study.tune.study import TuneStudy

COMPARED = 2  # trials that are run in any case: the default and the naive start
PATIENCE = 6  # trials in a row without a gain, after which more are not expected to bring one
GAIN = 1.01  # less is noise
FINALISTS = 3
NEAR = 0.9  # share of the best rate from which a placement may be the best one in truth
ROUNDS = 3  # in which the finalists are measured again, where the budget allows


def more(sofar: Sofar) -> list[Trial]:
    """The next trial, or none: the study is complete."""
    asked = TuneStudy.read(sofar.study.description)
    first, again = split(sofar.trials)
    number = len(sofar.trials) + 1
    if not again:
        point = next_point(asked, first, sofar.runs)
        if point is not None:
            cell = asked.cell(point, length(asked, first, sofar.runs))
            return interleave([cell], 1, first=number)
    return finals(asked, first, sofar.runs)[len(again) :]


def split(trials: Sequence[Trial]) -> tuple[list[Trial], list[Trial]]:
    """The trials of the search, and those that repeat the best of them."""
    return [one for one in trials if one.repeat == 1], [one for one in trials if one.repeat > 1]


def next_point(asked: TuneStudy, tried: Sequence[Trial], runs: Mapping[int, RunRecord]) -> Point | None:
    """What the search tries next; None where it is over."""
    seen = {key(trial.point) for trial in tried}
    begin = [point for point in asked.begin if key(point) not in seen]
    if begin and len(tried) < COMPARED:
        return dict(begin[0])
    if asked.trial_limit is not None and len(tried) >= asked.trial_limit:
        return None
    if asked.budget is not None and spent(tried, runs) + usual(tried, runs) + _least(asked, tried, runs) > asked.budget:
        return None
    if begin:
        return dict(begin[0])
    most = most_ranks(asked, tried, runs)
    left = [point for point in asked.points() if key(point) not in seen and point["ranks"] <= most]
    if not left:
        return None
    if (point := unseen(asked, tried, runs, left)) is not None:
        return point
    if _without_gain(asked, tried, runs) >= PATIENCE:
        return None
    return proposed(asked, tried, runs, left)


def unseen(
    asked: TuneStudy, tried: Sequence[Trial], runs: Mapping[int, RunRecord], left: Sequence[Point]
) -> Point | None:
    """The point nearest to the best so far that has a value which no trial has had; None where all have been seen.

    The workload's own knobs come first, then those of one number of ranks, then the numbers themselves, of which the
    default is mostly right.
    """
    leader = _leader(asked, tried, runs)
    late = ("threads", "ranks", "mpi")
    axes = asked.axes()
    for name in sorted(axes, key=lambda name: (name not in asked.knobs, late.index(name) + 1 if name in late else 0)):
        for value in axes[name]:
            if any(trial.point[name] == value for trial in tried):
                continue
            if having := [point for point in left if point[name] == value]:
                return nearest(leader, having)
    return None


def proposed(asked: TuneStudy, tried: Sequence[Trial], runs: Mapping[int, RunRecord], left: Sequence[Point]) -> Point:
    """The point that the estimator proposes among those that are left."""
    axes = asked.axes()
    by_values = {key({name: point[name] for name in axes}): point for point in left}
    sampler = {"name": "tpe", "trials": len(tried), "seed": asked.seed}
    wanted = propose(axes, sampler, results(tried, runs, asked.rate), lambda point: key(point) in by_values)
    return nearest(_leader(asked, tried, runs), left) if wanted is None else by_values[key(wanted)]


def nearest(wanted: Mapping[str, Any], points: Sequence[Point]) -> Point:
    """The point that differs from what is wanted in the fewest axes; the first of equals."""
    return min(points, key=lambda point: sum(point[name] != value for name, value in wanted.items()))


def _leader(asked: TuneStudy, tried: Sequence[Trial], runs: Mapping[int, RunRecord]) -> Point:
    """The point of the best trial so far, the first where none has completed."""
    return max(tried, key=lambda trial: measured(trial, runs, asked.rate) or 0.0).point


def finals(asked: TuneStudy, tried: Sequence[Trial], runs: Mapping[int, RunRecord]) -> list[Trial]:
    """The repeats at the end, decided by the search alone: rounds of the best and the naive start, as many as the
    budget pays for, and no longer than the search itself."""
    best = finalists(asked, tried, runs)
    if not best:
        return []
    left = math.inf if asked.budget is None else asked.budget - spent(tried, runs)
    naive = [trial for trial in tried if key(trial.point) == key(asked.naive) and measured(trial, runs, asked.rate)]
    chosen = best[:2]
    for trial in [*naive, *best[2:]]:
        if spent([*chosen, trial], runs) <= left:
            chosen.append(trial)
    if not chosen or spent(chosen, runs) > left:
        return []
    paid = int(left // spent(chosen, runs)) if math.isfinite(left) else ROUNDS
    rounds = max(min(ROUNDS, paid, len(tried) // len(chosen)), 1)
    cells = [Cell(trial.label, trial.params, trial.placement, trial.point) for trial in chosen]
    return interleave(cells, rounds, first=len(tried) + 1, repeat=2)


def finalists(asked: TuneStudy, tried: Sequence[Trial], runs: Mapping[int, RunRecord]) -> list[Trial]:
    """The trials that may be the best ones in truth, the best first; the naive start is none of them."""
    rates = {trial.number: measured(trial, runs, asked.rate) for trial in tried}
    good = [trial for trial in tried if rates[trial.number] and key(trial.point) != key(asked.naive)]
    good.sort(key=lambda trial: -(rates[trial.number] or 0.0))
    near = [trial for trial in good if (rates[trial.number] or 0) >= NEAR * (rates[good[0].number] or 0)]
    return near[:FINALISTS]


def total(sofar: Sofar) -> int:
    """How many trials there will be in all, as far as one can tell."""
    asked = TuneStudy.read(sofar.study.description)
    first, again = split(sofar.trials)
    if again:
        return len(first) + len(finals(asked, first, sofar.runs))
    least = max(COMPARED, len(first))
    each = usual(first, sofar.runs)
    likely = max(len(asked.begin), len(first)) + PATIENCE
    if asked.budget is not None and each:
        likely = len(first) + int(max(asked.budget - spent(first, sofar.runs), 0.0) // each)
    if asked.trial_limit is not None:
        likely = min(likely, max(asked.trial_limit, least) + FINALISTS)
    return max(least, likely)


def _least(asked: TuneStudy, tried: Sequence[Trial], runs: Mapping[int, RunRecord]) -> float:
    """Seconds to keep for measuring the best two again."""
    return spent(finalists(asked, tried, runs)[:2], runs)


def _without_gain(asked: TuneStudy, tried: Sequence[Trial], runs: Mapping[int, RunRecord]) -> int:
    """Trials since the last one that was clearly better than all before; those of the beginning don't count."""
    best, since = 0.0, 0
    begun = {key(point) for point in asked.begin}
    for trial in tried:
        rate = measured(trial, runs, asked.rate) or 0.0
        if rate > GAIN * best:
            best, since = rate, 0
        elif key(trial.point) not in begun:
            since += 1
    return since
