"""Kinds of studies: their trials, hopeless trials, reports, and the estimated time of the runs that a study needs.

The runner runs the missing trials, asks the kind for more when none is missing, and ends when there are no more. A kind
decides only from stored data, so a resumed study makes the same decisions.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

from workshop.core import words
from workshop.core.errors import BadInput
from workshop.core.placement import Placement
from workshop.extension import Workload, load
from workshop.registry import studies, workload_title
from workshop.report.activity import usual_time
from workshop.store.records import RunRecord, SessionRecord, StudyRecord, Trial
from workshop.store.store import Store
from workshop.study.trials import Planned, missing, remaining, status


@dataclass(frozen=True)
class Sofar:
    """A study as it is now: its trials in their order, its runs by id."""

    study: StudyRecord
    trials: Sequence[Trial]
    runs: Mapping[int, RunRecord]


@dataclass(frozen=True)
class Report(Sofar):
    """The results of a study so far. Each kind has a subclass; a study of an unknown kind uses this class."""

    verdict: Mapping[str, str]  # verdict, why, next

    @property
    def rate(self) -> str:
        """The metric that the study compares; empty where it doesn't say."""
        return str(self.study.description.get("rate") or "")

    @property
    def unit(self) -> str:
        return str(self.study.description.get("unit") or "")

    def findings(self) -> dict[str, Any]:
        """The part of the document that belongs to this kind of study."""
        return {}

    def as_json(self) -> dict[str, Any]:
        """The document of `workshop study run|show|resume --json`."""
        study = self.study
        return {
            "study": study.id,
            "kind": study.kind,
            "workload": study.workload,
            "state": study.state,
            "created_at": study.created_at,
            "finished_at": study.finished_at,
            **self.findings(),
            "verdict": dict(self.verdict),
            "trials": [trial_json(trial, self.runs, self.rate) for trial in self.trials],
        }


def trial_json(trial: Trial, runs: Mapping[int, RunRecord], rate: str) -> dict[str, Any]:
    """One trial; `rate` names the metric that the study compares."""
    run = runs.get(trial.run_id or 0)
    return {
        "number": trial.number,
        "label": trial.label,
        "point": trial.point,
        "repeat": trial.repeat,
        "status": status(trial, runs),
        "run": trial.run_id,
        "rate": run.metrics.get(rate) if run is not None else None,
        "pruned": trial.pruned,
        "error": trial.error or (run.error if run is not None else None),
    }


@dataclass(frozen=True)
class Watched:
    """A trial's run in progress: how long it has been measured, and the median of its work per second."""

    run: RunRecord
    seconds: float
    rate: float | None  # None: not known yet


def read(store: Store, study_id: int) -> tuple[list[Trial], dict[int, RunRecord]]:
    """A study's trials and their runs by id."""
    trials = store.trials(study_id)
    return trials, {run.id: run for run in store.runs(study_id=study_id, limit=None)}


@dataclass(frozen=True)
class Kind:
    """A kind of study. All functions are pure except `report` and `seconds`, which read the store.

    `more` is called when no trial is missing. It returns further trials, with continued numbers, or none if the study
    is complete. `total` is the estimated number of all trials. `hopeless` is called about twice a second during a trial
    and returns the reason for which it is pruned. `seconds` estimates the time of all missing trials, with the source
    of the estimate; None if the kind has no better estimate than the common one. `measured`: trials are compared by
    speed, so they get fresh ranks and the machine for themselves. `columns` are further figures of a trial's run, by
    name.

    `cards` refers to a function that returns the cards of a report. Their names are unique and include "verdict" and
    "runs". If it is empty, the trials are shown. `view` refers to a function `(study, session, identity)` that draws a
    study on a page, where visitors predict before they see cards; empty: its cards. `elsewhere` says where to run a
    study that notebooks can't run.
    """

    name: str
    title: Callable[[StudyRecord], str]
    report: Callable[[Store, StudyRecord], Report]
    more: Callable[[Sofar], list[Trial]] = lambda sofar: []
    total: Callable[[Sofar], int] = lambda sofar: len(sofar.trials)
    hopeless: Callable[[Sofar, Trial, Watched], str | None] = lambda sofar, trial, watched: None
    seconds: Callable[[Store, Sofar], tuple[float, str] | None] = lambda store, sofar: None
    measured: bool = True
    columns: Callable[[RunRecord], Mapping[str, float]] = lambda run: {}
    cards: str = ""
    view: str = ""
    elsewhere: str = ""


def _unknown(store: Store, study: StudyRecord) -> Report:
    """A report on a study of an unknown kind, such as a newer program's: only its trials."""
    texts = {
        "verdict": "This workshop can't interpret this study.",
        "why": f"It is of the kind {study.kind}, perhaps a newer program's. Its runs are ordinary ones.",
        "next": "Look at them one by one.",
    }
    return Report(study, *read(store, study.id), texts)


UNKNOWN = Kind("", lambda study: f"{study.kind} of {study.workload}", _unknown)


def kind(name: str) -> Kind:
    """The kind of study with that name. Raises BadInput for an unknown kind."""
    if name not in studies():
        raise BadInput(f"There is no kind of study {name!r}; this workshop knows {', '.join(studies())}.")
    loaded: Kind = load(studies()[name].kind)
    return loaded


def any_kind(name: str) -> Kind:
    """The kind of study with that name, or `UNKNOWN`, which shows trials only."""
    return kind(name) if name in studies() else UNKNOWN


def title(study: StudyRecord) -> str:
    """A study in a few words, of whatever kind."""
    return any_kind(study.kind).title(study)


def expected(sofar: Sofar) -> int:
    """The estimated number of runs of a study, with those that its kind will still add."""
    trials = len(sofar.trials)
    return trials if sofar.study.finished_at is not None else max(any_kind(sofar.study.kind).total(sofar), trials)


def expected_runs(store: Store, study: StudyRecord) -> int:
    """The estimated number of runs of a study. Its trials are read from the store only while it isn't finished."""
    return study.trials if study.finished_at else expected(Sofar(study, *read(store, study.id)))


def report(store: Store, study: StudyRecord) -> Report:
    """The report on a study, also of an unknown kind."""
    return any_kind(study.kind).report(store, study)


@dataclass(frozen=True)
class StudyRequest:
    """A form that somebody has filled in."""

    store: Store
    session: SessionRecord | None
    workload: Workload
    params: Mapping[str, Any]  # those that differ from what the form began with
    placement: Placement
    options: Any  # of the form's model


@dataclass(frozen=True)
class StudyForm:
    """The form of a kind of study.

    `options` is a pydantic model of the study's own settings. `plan` plans the study and raises BadInput. `takes` says
    whether a workload can be studied. `start` returns the params with which the kind begins if they differ from the
    workload's defaults. `hidden` returns the params that the kind sets itself. `placement` names the fields of a
    placement that can be set. The form whose `order` is lowest comes first.
    """

    title: str
    options: type[BaseModel]
    plan: Callable[[StudyRequest], Planned]
    takes: Callable[[Workload], bool]
    start: Callable[[Workload, Any], Mapping[str, Any]] = lambda workload, options: {}
    hidden: Callable[[Workload], Collection[str]] = lambda workload: ()
    placement: Collection[str] = ()
    order: int = 500


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
