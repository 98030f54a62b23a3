"""Choose the next trial. Pure: the same trials and the same seed give the same decision, so a resumed study goes on as
before.

A search begins with placements that are usually good, and with the naive start as the reference. Then each value of
each knob is tried at the best placement so far, because a few trials show the effect of a single knob. Then Optuna's
tree-structured Parzen estimator chooses among the remaining points, with all knobs considered together. At the end the
best placements and the naive start are measured again in turn, because the largest of many noisy values is usually a
lucky one.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

from workshop.core.memory import SPARE
from workshop.report.activity import duration
from workshop.report.analysis.endings import MEMORY
from workshop.store.records import RunRecord, Trial
from workshop.study.grid.axes import propose
from workshop.study.kinds import Sofar
from workshop.study.results import rate_of, results
from workshop.study.trials import Cell, interleave, status
from workshop.study.tune.study import Point, TuneStudy, key

MEASURED = 3.0  # seconds that a trial should measure
ENOUGH = (1.5, 6.0)  # seconds that are long enough and short enough


def length(study: TuneStudy, tried: Sequence[Trial], runs: Mapping[int, RunRecord]) -> dict[str, int]:
    """The length of the next trial: that of the first completed trial, unless it measured for far too short or too
    long."""
    configured, value = study.length, study.length.value
    done = next((runs[trial.run_id] for trial in tried if trial.run_id and status(trial, runs) == "completed"), None)
    took = _seconds(study, done) if done is not None else None
    if not configured.fixed and took and not ENOUGH[0] <= took <= ENOUGH[1]:
        target = max(value * MEASURED / took, 1.0)
        digits = 1 - int(math.log10(target))
        value = max(int(round(target, digits)), 1)  # two digits are enough
    return {configured.param: value}


def _seconds(study: TuneStudy, run: RunRecord) -> float | None:
    """The seconds that a run has measured; in training without the first steps, which compile."""
    steps, rate = run.metrics.get("measured_steps"), rate_of(run, study.rate)
    if study.share and steps and rate:
        return float(steps * study.params[study.share] / rate)
    seconds: float | None = run.metrics.get("seconds", {}).get(study.length.seconds)
    return seconds


def most_ranks(study: TuneStudy, tried: Sequence[Trial], runs: Mapping[int, RunRecord]) -> float:
    """How many ranks may fit into memory: as many as have room with the smallest memory of any rank so far, and fewer
    than ran out of memory."""
    sizes = [each for run in _runs(tried, runs) for each in run.metrics.get("memory") or [] if each]
    most = math.inf
    if sizes and study.memory:
        most = (1 - SPARE) * study.memory // min(sizes)
    for trial in tried:
        run = runs.get(trial.run_id or 0)
        if run is not None and run.error is not None and run.error.get("type") in MEMORY:
            most = min(most, trial.placement["ranks"] - 1)
    return most


def spent(tried: Sequence[Trial], runs: Mapping[int, RunRecord]) -> float:
    """Seconds of runs with the start of their ranks."""
    return sum(duration(run) or 0.0 for run in _runs(tried, runs))


def usual(tried: Sequence[Trial], runs: Mapping[int, RunRecord]) -> float:
    """Seconds that a trial is likely to take."""
    return median([duration(run) or 0.0 for run in _runs(tried, runs)] or [0.0])


def _runs(trials: Sequence[Trial], runs: Mapping[int, RunRecord]) -> list[RunRecord]:
    return [run for trial in trials if (run := runs.get(trial.run_id or 0)) is not None]


def measured(trial: Trial, runs: Mapping[int, RunRecord], rate: str) -> float | None:
    done = status(trial, runs) == "completed"
    return rate_of(runs.get(trial.run_id or 0), rate) if done else None


COMPARED = 2  # trials that are run in any case: the default and the naive start
PATIENCE = 6  # trials in a row without a gain, after which more are not expected to bring one
GAIN = 1.01  # less is noise
FINALISTS = 3
NEAR = 0.9  # share of the best rate from which a placement may be the best one in truth
ROUNDS = 3  # in which the finalists are measured again, where the budget allows


def more(sofar: Sofar) -> list[Trial]:
    """The next trial; none if the study is complete."""
    study = TuneStudy.read(sofar.study)
    first, repeats = split(sofar.trials)
    number = len(sofar.trials) + 1
    if not repeats:
        point = next_point(study, first, sofar.runs)
        if point is not None:
            cell = study.cell(point, length(study, first, sofar.runs))
            return interleave([cell], 1, first=number)
    return finals(study, first, sofar.runs)[len(repeats) :]


def split(trials: Sequence[Trial]) -> tuple[list[Trial], list[Trial]]:
    """The trials of the search, and those that repeat the best of them."""
    return [trial for trial in trials if trial.repeat == 1], [trial for trial in trials if trial.repeat > 1]


def next_point(study: TuneStudy, tried: Sequence[Trial], runs: Mapping[int, RunRecord]) -> Point | None:
    """The next point of the search; None if it is over."""
    tried_points = {key(trial.point) for trial in tried}
    begin = [point for point in study.begin if key(point) not in tried_points]
    if begin and len(tried) < COMPARED:
        return dict(begin[0])
    if study.trial_limit is not None and len(tried) >= study.trial_limit:
        return None
    if study.budget is not None:
        final_seconds = spent(finalists(study, tried, runs)[:2], runs)  # to measure the best two again
        if spent(tried, runs) + usual(tried, runs) + final_seconds > study.budget:
            return None
    if begin:
        return dict(begin[0])
    most = most_ranks(study, tried, runs)
    candidates = [point for point in study.points() if key(point) not in tried_points and point["ranks"] <= most]
    if not candidates:
        return None
    if (point := unseen(study, tried, runs, candidates)) is not None:
        return point
    if _without_gain(study, tried, runs) >= PATIENCE:
        return None
    return proposed(study, tried, runs, candidates)


def unseen(
    study: TuneStudy, tried: Sequence[Trial], runs: Mapping[int, RunRecord], candidates: Sequence[Point]
) -> Point | None:
    """The point nearest to the best so far with a value that no trial has had; None if all values were tried.

    The workload's own knobs come first, then those of one number of ranks, then the numbers of ranks: the default
    number is usually right.
    """
    leader = _leader(study, tried, runs)
    late = ("threads", "ranks", "mpi")
    axes = study.axes()
    params = [name for name in study.knobs if not name.startswith("env.")]
    for name in sorted(axes, key=lambda name: (name not in params, late.index(name) + 1 if name in late else 0)):
        for value in axes[name]:
            if any(trial.point[name] == value for trial in tried):
                continue
            if having := [point for point in candidates if point[name] == value]:
                return nearest(leader, having)
    return None


def proposed(
    study: TuneStudy, tried: Sequence[Trial], runs: Mapping[int, RunRecord], candidates: Sequence[Point]
) -> Point:
    """The point among `candidates` that the estimator proposes."""
    axes = study.axes()
    by_values = {key({name: point[name] for name in axes}): point for point in candidates}
    sampler = {"name": "tpe", "trials": len(tried), "seed": study.seed}
    proposal = propose(axes, sampler, results(tried, runs, study.rate), lambda point: key(point) in by_values)
    return nearest(_leader(study, tried, runs), candidates) if proposal is None else by_values[key(proposal)]


def nearest(target: Mapping[str, Any], points: Sequence[Point]) -> Point:
    """The point that differs from `target` in the fewest axes; the first of equals."""
    return min(points, key=lambda point: sum(point[name] != value for name, value in target.items()))


def _leader(study: TuneStudy, tried: Sequence[Trial], runs: Mapping[int, RunRecord]) -> Point:
    """The point of the best trial so far; the first point if no trial has completed."""
    return max(tried, key=lambda trial: measured(trial, runs, study.rate) or 0.0).point


def finals(study: TuneStudy, tried: Sequence[Trial], runs: Mapping[int, RunRecord]) -> list[Trial]:
    """The repeats at the end, decided by the search alone: rounds of the best and the naive start, as many as the
    budget allows, and no longer than the search itself."""
    best = finalists(study, tried, runs)
    if not best:
        return []
    budget_left = math.inf if study.budget is None else study.budget - spent(tried, runs)
    naive = [trial for trial in tried if key(trial.point) == key(study.naive) and measured(trial, runs, study.rate)]
    chosen = best[:2]
    for trial in [*naive, *best[2:]]:
        if spent([*chosen, trial], runs) <= budget_left:
            chosen.append(trial)
    if not chosen or spent(chosen, runs) > budget_left:
        return []
    paid = int(budget_left // spent(chosen, runs)) if math.isfinite(budget_left) else ROUNDS
    rounds = max(min(ROUNDS, paid, len(tried) // len(chosen)), 1)
    cells = [Cell(trial.label, trial.params, trial.placement, trial.point) for trial in chosen]
    return interleave(cells, rounds, first=len(tried) + 1, repeat=2)


def finalists(study: TuneStudy, tried: Sequence[Trial], runs: Mapping[int, RunRecord]) -> list[Trial]:
    """The trials that may really be the best ones, the best first, without the naive start."""
    rates = {trial.number: measured(trial, runs, study.rate) for trial in tried}
    good = [trial for trial in tried if rates[trial.number] and key(trial.point) != key(study.naive)]
    good.sort(key=lambda trial: -(rates[trial.number] or 0.0))
    near = [trial for trial in good if (rates[trial.number] or 0) >= NEAR * (rates[good[0].number] or 0)]
    return near[:FINALISTS]


def total(sofar: Sofar) -> int:
    """The estimated number of trials."""
    study = TuneStudy.read(sofar.study)
    first, repeats = split(sofar.trials)
    if repeats:
        return len(first) + len(finals(study, first, sofar.runs))
    least = max(COMPARED, len(first))
    each = usual(first, sofar.runs)
    likely = max(len(study.begin), len(first)) + PATIENCE
    if study.budget is not None and each:
        likely = len(first) + int(max(study.budget - spent(first, sofar.runs), 0.0) // each)
    if study.trial_limit is not None:
        likely = min(likely, max(study.trial_limit, least) + FINALISTS)
    return max(least, likely)


def _without_gain(study: TuneStudy, tried: Sequence[Trial], runs: Mapping[int, RunRecord]) -> int:
    """The number of trials since the last clear improvement, without the first points."""
    best, since = 0.0, 0
    begun = {key(point) for point in study.begin}
    for trial in tried:
        rate = measured(trial, runs, study.rate) or 0.0
        if rate > GAIN * best:
            best, since = rate, 0
        elif key(trial.point) not in begun:
            since += 1
    return since
