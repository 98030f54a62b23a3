"""The estimated time of the runs that a study still needs."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from workshop.core import words
from workshop.registry import workload_title
from workshop.report.activity import usual_time
from workshop.store.records import RunRecord, StudyRecord
from workshop.store.store import Store
from workshop.study.kinds import Sofar, expected, kind
from workshop.study.trials import Planned, missing, remaining

SECONDS = 30.0  # where nothing is known


@dataclass(frozen=True)
class Remaining:
    """The runs that a study still needs, and their estimated seconds. `why` is the source of the estimate."""

    runs: int
    seconds: float
    why: str = ""

    def after(self, runs: Iterable[RunRecord]) -> float:
        """The seconds without those that `runs` have been going on for."""
        each = self.seconds / max(self.runs, 1)
        begun = (run.started_at for run in runs if run.status == "running" and run.started_at is not None)
        return self.seconds - sum(min(max(time.time() - at, 0.0), each) for at in begun)


def remaining_work(store: Store, sofar: Sofar) -> Remaining:
    """The runs that a study still needs, and their estimated time without waiting. The estimate uses the study's own
    completed runs, or earlier runs as long as there are none."""
    study, trials, runs = sofar.study, sofar.trials, sofar.runs
    total = expected(sofar)
    number = len(missing(trials, runs)) + total - len(trials)
    if by_kind := kind(study.kind).seconds(store, sofar):
        return Remaining(number, *by_kind)
    if from_trials := remaining(trials, runs, total):
        return Remaining(number, from_trials, "as its own runs took")
    each, why = seconds_each(store, study.workload, study.description.get("params") or {})
    return Remaining(number, number * each, why)


def planned_work(store: Store, planned: Planned) -> Remaining:
    """All runs of a study that is not stored yet."""
    description, trials = planned.description(), planned.trials()
    kind, workload = planned.kind, planned.workload
    study = StudyRecord(0, kind, workload, description, "prepared", "", time.time(), None, len(trials), 0, 0)
    return remaining_work(store, Sofar(study, trials, {}))


def ahead_words(store: Store, sofar: Sofar) -> str:
    """The number of runs that a study still needs, and the estimated time."""
    ahead = remaining_work(store, sofar)
    return f"{words.count(ahead.runs, 'run')} to go, about {words.long(ahead.seconds)} ({ahead.why})"


def seconds_each(store: Store, workload: str, params: Mapping[str, Any]) -> tuple[float, str]:
    """The estimated seconds of a run, and the source of the estimate, as `usual_time` has it."""
    usual = usual_time(store, workload, params)
    if usual is None:
        return SECONDS, f"at {SECONDS:.0f} s a run, which is a guess: {workload_title(workload)} has not run here yet"
    which = "" if usual.same_params else " with other settings"
    number = "its last run" if usual.runs == 1 else f"its last {usual.runs} runs"
    return usual.seconds, f"at {words.seconds(usual.seconds)} a run, as {number}{which} took"


def run_estimate(store: Store, workload: str, params: Mapping[str, Any], ranks: int) -> str:
    """A sentence for people about to start a run: how long it will probably take, or that nobody knows."""
    usual = usual_time(store, workload, params, ranks)
    if usual is None:
        return "Nobody knows yet how long this takes: no run of this workload has completed here."
    runs = "The last run" if usual.runs == 1 else f"The last {usual.runs} runs"
    took = f"took {words.seconds(usual.seconds)}"
    if usual.same_ranks:
        return (
            f"It will probably take about {words.seconds(usual.seconds)}: {runs[0].lower()}{runs[1:]} like it {took}."
        )
    if usual.same_params:
        return f"{runs} with these settings, but on other numbers of ranks, {took}."
    return f"{runs} of this workload {took}, but with other settings, so this one may take much longer or less."
