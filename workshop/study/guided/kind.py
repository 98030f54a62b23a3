"""A guided study as a kind of study: its report, step by step."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import median
from typing import Any, Literal

from workshop.core import words
from workshop.core.placement import Placement
from workshop.registry import workload
from workshop.report.activity import duration
from workshop.store.records import RunRecord, StudyRecord, Trial
from workshop.store.store import Store
from workshop.study.estimate import Remaining
from workshop.study.guided.guesses import Answer, answer, ask, in_words
from workshop.study.guided.guide import Events, Guide, Step, Verdict
from workshop.study.guided.plan import Setting, key
from workshop.study.guided.step_results import StepResults, step_results
from workshop.study.kinds import Kind, Report, Sofar, Watched, read
from workshop.study.results import CellResult, best
from workshop.study.trials import RESULTS, Cell, interleave, status

HOPELESS = 0.5  # of the best rate of a step, below which a trial is ended early
WATCHED = 3.0  # seconds that it is watched before that
# Seconds of a trial without past runs: new ranks, TensorFlow's import and the compilation of its steps,
# for ranks that have cores of their own; more ranks than cores take turns with all of that.
TRIAL = 13.0
PAST = 300  # runs from which expected times are taken
Placements = list[Mapping[str, Any]]


def more(guide: Guide, sofar: Sofar) -> list[Trial]:
    """The next trials of the first unfinished step: each new cell once, then the repeats."""
    findings = step_results(guide, sofar)
    first = max((trial.number for trial in sofar.trials), default=0) + 1
    for key_ in findings.setting.steps:
        if new_trials := interleave(_new(findings, key_), 1, first) or _repeat_trials(findings, key_, first):
            return new_trials
    return []


def total(guide: Guide, sofar: Sofar) -> int:
    """The estimated number of trials. Later steps may depend on the results of earlier ones."""
    findings = step_results(guide, sofar)
    return len(sofar.trials) + sum(len(ahead(findings, key_)) for key_ in findings.setting.steps)


def hopeless(guide: Guide, sofar: Sofar, trial: Trial, watched: Watched) -> str | None:
    """The reason why a trial is ended early: it has more threads than cores and does less than half the work of the
    step's best. A trial with a core for each thread may just have met a busy moment of the machine, so it goes on."""
    step_key = trial.point.get("step", "")
    pruned = step_key in guide.keys and step_key and guide.step(step_key).prune
    if not pruned or trial.repeat > 1 or watched.rate is None or watched.seconds < WATCHED:
        return None
    findings = step_results(guide, sofar)
    where = Placement.parse(trial.placement)
    pool_threads = str(trial.point.get("env.TF_NUM_INTRAOP_THREADS", ""))
    threads = int(pool_threads) if pool_threads.isdigit() and int(pool_threads) else where.threads_per_rank
    leader = best(findings.results(step_key))
    if where.ranks * threads <= findings.setting.cores or leader is None or not leader.median:
        return None
    share = watched.rate / leader.median
    if share >= HOPELESS:
        return None
    done = f"After {words.seconds(watched.seconds)} it did {words.percent(share)}"
    return f"{done} of the work of {leader.label.partition(': ')[2]}."


def going_on(findings: StepResults) -> Trial | None:
    """The trial that is being run or waits for its turn."""
    return next((trial for trial in findings.trials if status(trial, findings.runs) in ("running", "queued")), None)


def ahead(findings: StepResults, step_key: str) -> Placements:
    """The placements of the trials that a step will probably still need."""
    fresh = [cell for cell in _new(findings, step_key) if not cell.why]
    placements = [cell.placement for cell in fresh]
    repeats = findings.setting.repeats
    if fresh:  # the repeated cells aren't known yet: assume the cheapest ones
        able = [*fresh, *(cell for cell in findings.cells(step_key) if not cell.why and cell not in fresh)]
        for cell in sorted(able, key=lambda cell: cell.placement["ranks"])[: _repeated_cells(findings, step_key)]:
            placements += [cell.placement] * (repeats - max(len(findings.trials_of(step_key, cell)), 1))
    else:
        placements += [trial.placement for trial in _repeat_trials(findings, step_key, 1)]
    later = findings.guide.later(findings, findings.guide.step(step_key))
    return [*placements, *(where for where in later for _ in range(repeats))]


def unfinished(findings: StepResults, step_key: str) -> Placements:
    """The placements of a step's trials without a result. An interrupted study has some."""
    return [trial.placement for trial in findings.own_trials(step_key) if status(trial, findings.runs) not in RESULTS]


def _new(findings: StepResults, step_key: str) -> list[Cell]:
    """The cells of a step without trials, each once."""
    new_cells: dict[str, Cell] = {}
    for cell in findings.cells(step_key):
        if not findings.trials_of(step_key, cell):
            new_cells.setdefault(key(cell.params, cell.placement), cell)
    return list(new_cells.values())


def _repeat_trials(findings: StepResults, step_key: str, first: int) -> list[Trial]:
    """Repeats of the cells with the fastest first trials, or of all cells with a rate, in rounds."""
    cells = _repeated(findings, step_key)
    counts = {cell.label: len(findings.trials_of(step_key, cell)) for cell in cells}
    trials: list[Trial] = []
    for repeat in range(2, findings.setting.repeats + 1):
        lacking = [cell for cell in cells if counts[cell.label] < repeat]
        turn = repeat % len(lacking) if lacking else 0  # none is always first
        trials += interleave([*lacking[turn:], *lacking[:turn]], 1, first + len(trials), repeat)
    return trials


def _repeated(findings: StepResults, step_key: str) -> list[Cell]:
    """The cells to repeat, chosen by their first trials, so that repeats don't change the choice."""
    rated: dict[str, tuple[float, Cell]] = {}
    for cell in findings.cells(step_key):
        if (rate := findings.first_rate(step_key, cell)) is not None:
            rated.setdefault(key(cell.params, cell.placement), (rate, cell))
    ordered: Sequence[tuple[float, Cell]] = list(rated.values())
    if (most := _repeated_cells(findings, step_key)) is not None:
        ordered = sorted(ordered, key=lambda pair: -pair[0])[:most]
    return [cell for _, cell in ordered]


def _repeated_cells(findings: StepResults, step_key: str) -> int | None:
    """How many cells of a step are repeated; None: all."""
    repeat = findings.guide.step(step_key).repeat
    return None if repeat == "all" else repeat


def estimate(placements: Sequence[Mapping[str, Any]], cores: int, past: Iterable[RunRecord]) -> Remaining:
    """The estimated time of trials on these placements, one after the other.

    For each trial it is the median of `past` measured runs with as many ranks per core, else of all past runs, else
    `TRIAL`.
    """
    seconds_by_crowd: dict[int, list[float]] = {}
    for run in past:
        if run.measured and run.status == "completed" and (took := duration(run)) is not None:
            seconds_by_crowd.setdefault(_crowd(run.placement, cores), []).append(took)
    every = [seconds for group in seconds_by_crowd.values() for seconds in group]
    seconds = 0.0
    for placement in placements:
        crowd = _crowd(placement, cores)
        guessed = median(every) if every else TRIAL * (1 + 0.5 * (crowd - 1))
        seconds += median(seconds_by_crowd[crowd]) if crowd in seconds_by_crowd else guessed
    each = words.seconds(seconds / max(len(placements), 1))
    known_by = "as such runs took here" if every else "which is a guess: nothing like them has run here yet"
    return Remaining(len(placements), seconds, f"at {each} a run, {known_by}")


def expected(store: Store, setting: Setting, sofar: Sofar | None = None) -> Remaining:
    """The runs that the chosen steps of a study still need, with their estimated time. `sofar` is None for a study that
    isn't stored yet."""
    findings = StepResults(setting, sofar.trials if sofar else (), sofar.runs if sofar else {})
    return _estimate(findings, setting.steps, _past(store, setting))


def _estimate(findings: StepResults, steps: str, past: Sequence[RunRecord]) -> Remaining:
    chosen = findings.guide.chosen(steps)
    placements = [where for key_ in chosen for where in (*unfinished(findings, key_), *ahead(findings, key_))]
    return estimate(placements, findings.setting.cores, past)


def _past(store: Store, setting: Setting) -> list[RunRecord]:
    """Completed runs that did about as much work as a trial of the study."""
    guide = setting.guide
    usual = workload(guide.workload).params.model_fields
    values = {name: setting.params.get(name, usual[name].default) for name in guide.time_params}
    runs = store.runs(workload=guide.workload, status="completed", limit=PAST)
    return [
        run for run in runs if all(run.params.get(name, usual[name].default) == value for name, value in values.items())
    ]


def _crowd(placement: Mapping[str, Any], cores: int) -> int:
    """How many ranks a core has to serve."""
    return math.ceil(Placement.parse(placement).ranks / max(cores, 1))


State = Literal["waiting", "running", "partly", "done"]


@dataclass(frozen=True)
class StepReport:
    """One step and its results."""

    step: Step
    state: State  # partly: it has some of its results and isn't running
    cells: list[CellResult]
    verdict: Verdict | None  # None: not enough measured yet
    answer: Answer | None  # to the learners' question
    runs_left: int  # runs that it lacks

    @property
    def ended(self) -> int:
        """How many of its cells have a result."""
        return sum(cell.status in ("completed", "failed", "pruned") for cell in self.cells)

    def as_json(self, findings: StepResults) -> dict[str, Any]:
        question = ask(findings, self.step.key)
        return {
            "step": self.step.key,
            "title": self.step.title,
            "state": self.state,
            "verdict": self.verdict,
            "question": question.question,
            "answer": in_words(question, self.answer.value) if self.answer else None,
            findings.guide.reference: self.step.published,
            "cells": [cell.as_json() for cell in self.cells],
        }


@dataclass(frozen=True)
class GuidedReport(Report):
    """A guided study and its results."""

    step_results: StepResults
    steps: list[StepReport]
    events: Events  # events of its runs, read by the guide

    @property
    def setting(self) -> Setting:
        return self.step_results.setting

    def step(self, key: str) -> StepReport:
        return self.steps[self.step_results.guide.keys.index(key)]

    def findings(self) -> dict[str, Any]:
        return {
            "setting": self.setting.name,
            "unit": self.unit,
            "params": dict(self.setting.params),
            "source": self.step_results.guide.source,
            "steps": [step_report.as_json(self.step_results) for step_report in self.steps],
            **{
                name: {cell: event.as_json() for cell, event in events_by_cell.items()}
                for name, events_by_cell in self.events.items()
            },
        }


def title(guide: Guide, study: StudyRecord) -> str:
    """A guided study in a few words."""
    setting = Setting.read(guide, study.description)
    some = "" if setting.steps == guide.keys else f", {steps_in_words(setting.steps)}"
    return f"{guide.title[0].lower()}{guide.title[1:]}, {setting.name}{some}"


def guided_report(guide: Guide, store: Store, study: StudyRecord) -> GuidedReport:
    """The report on a guided study."""
    study_trials, runs = read(store, study.id)
    findings = step_results(guide, Sofar(study, study_trials, runs))
    events = guide.events(store, findings)
    steps = [_step(study, findings, events, step) for step in guide.steps]
    return GuidedReport(study, study_trials, runs, _verdict(steps, findings), findings, steps, events)


def _step(study: StudyRecord, findings: StepResults, events: Events, step: Step) -> StepReport:
    now, key = going_on(findings), step.key
    runs_left = len(unfinished(findings, key)) + len(ahead(findings, key))
    state: State = "waiting"
    if study.state == "running" and now is not None and now.point.get("step") == key:
        state = "running"
    elif findings.begun(key):
        state = "done" if findings.done(key) and not runs_left else "partly"
    verdict = findings.guide.judge(findings, key, events)
    if verdict is None and state == "done":
        verdict = {
            "verdict": "Too few of its runs worked to compare anything.",
            "why": findings.failures(key) or "The runs have no results that this step compares.",
            "next": f"Fix that, then run the failed trials again: workshop study resume {study.id} --failed",
        }
    return StepReport(step, state, findings.results(key), verdict, answer(findings, key, events), runs_left)


def _verdict(steps: Sequence[StepReport], findings: StepResults) -> Verdict:
    """The verdict of the last step if there is one, else the progress of the study."""
    if steps[-1].verdict is not None:
        return steps[-1].verdict
    judged = {
        step_report.step.key: step_report.verdict["verdict"] for step_report in steps if step_report.verdict is not None
    }
    if not judged:
        return {
            "verdict": "Not enough measured yet.",
            "why": "No step has what it compares.",
            "next": f"Predict the result of step {findings.setting.steps[:1] or findings.guide.keys[0]}, then run it.",
        }
    following = next(step_report.step for step_report in steps if step_report.verdict is None)
    return {
        "verdict": f"{words.count(len(judged), 'step')} of {len(steps)} measured.",
        "why": " ".join(f"{key}: {sentence}" for key, sentence in judged.items()),
        "next": f"Next is step {following.key}: {following.title}.",
    }


def steps_in_words(keys: str) -> str:
    return f"step{'' if len(keys) == 1 else 's'} {words.listed(keys)}" if keys else "no step yet"


def seconds(guide: Guide, store: Store, sofar: Sofar) -> tuple[float, str]:
    """The estimated time of the missing runs, and the source of the estimate."""
    estimate = expected(store, Setting.read(guide, sofar.study.description), sofar)
    return estimate.seconds, estimate.why


def kind(guide: Guide) -> Kind:
    """The kind of study that a guide describes."""
    return Kind(
        guide.kind,
        partial(title, guide),
        partial(guided_report, guide),
        partial(more, guide),
        partial(total, guide),
        partial(hopeless, guide),
        partial(seconds, guide),
        cards="workshop.study.guided.cards:cards",
        view="workshop.web.pages.guided_study:view",
        elsewhere=f"`workshop study run {guide.kind}`, or the dashboard's page {guide.page}",
    )
