"""What trials have taken, of time and of memory, and what that means for the next ones. Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from statistics import median

from workshop.core.memory import SPARE
from workshop.report.analysis.endings import MEMORY
from workshop.store.records import RunRecord, Trial
from workshop.study.results import rate_of
from workshop.study.trials import status
from workshop.study.tune.study import TuneStudy

MEASURED = 3.0  # seconds that a trial should measure
ENOUGH = (1.5, 6.0)  # what is as good


def length(asked: TuneStudy, tried: Sequence[Trial], runs: Mapping[int, RunRecord]) -> dict[str, int]:
    """For how long the next trial goes on: as the first one that completed, unless it measured far too little or too
    much."""
    said, value = asked.length, asked.length.value
    done = next((runs[trial.run_id] for trial in tried if trial.run_id and status(trial, runs) == "completed"), None)
    took = _seconds(asked, done) if done is not None else None
    if not said.fixed and took and not ENOUGH[0] <= took <= ENOUGH[1]:
        wanted = max(value * MEASURED / took, 1.0)
        digits = 1 - int(math.log10(wanted))
        value = max(int(round(wanted, digits)), 1)  # two digits are enough
    return {said.param: value}


def _seconds(asked: TuneStudy, run: RunRecord) -> float | None:
    """For how long a run has measured; training without its first steps, which compile."""
    steps, rate = run.metrics.get("measured_steps"), rate_of(run, asked.rate)
    if asked.share and steps and rate:
        return steps * asked.params[asked.share] / rate
    return run.metrics.get("seconds", {}).get(asked.length.seconds)


def most_ranks(asked: TuneStudy, tried: Sequence[Trial], runs: Mapping[int, RunRecord]) -> float:
    """How many ranks may fit into memory: no more than there would be room for if each took as little as any rank has
    been seen to take, and fewer than ran out of it."""
    held = [each for run in _runs(tried, runs) for each in run.metrics.get("memory") or [] if each]
    most = math.inf
    if held and asked.memory:
        most = (1 - SPARE) * asked.memory // min(held)
    for trial in tried:
        run = runs.get(trial.run_id or 0)
        if run is not None and run.error is not None and run.error.get("type") in MEMORY:
            most = min(most, trial.placement["ranks"] - 1)
    return most


def spent(tried: Sequence[Trial], runs: Mapping[int, RunRecord]) -> float:
    """Seconds of runs, their ranks' start included."""
    return sum(took(run) for run in _runs(tried, runs))


def usual(tried: Sequence[Trial], runs: Mapping[int, RunRecord]) -> float:
    """Seconds that a trial is likely to take."""
    return median([took(run) for run in _runs(tried, runs)] or [0.0])


def _runs(trials: Sequence[Trial], runs: Mapping[int, RunRecord]) -> list[RunRecord]:
    return [runs[trial.run_id] for trial in trials if trial.run_id in runs]


def took(run: RunRecord) -> float:
    if run.finished_at is None or run.started_at is None:  # it goes on, or never began
        return 0.0
    return max(run.finished_at - run.started_at, 0.0)


def measured(trial: Trial, runs: Mapping[int, RunRecord], rate: str) -> float | None:
    done = status(trial, runs) == "completed"
    return rate_of(runs.get(trial.run_id or 0), rate) if done else None
