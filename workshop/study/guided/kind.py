"""A guided study as a kind of study: its next trials, and its report, step by step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

from workshop.core import words
from workshop.core.placement import Placement
from workshop.report.activity import usual_time
from workshop.store.records import StudyRecord, Trial
from workshop.store.store import Store
from workshop.study.estimate import Remaining
from workshop.study.guided.cells import key
from workshop.study.guided.guesses import Answer, answer, ask, in_words
from workshop.study.guided.guide import Guide, Step
from workshop.study.guided.plan import Setting
from workshop.study.guided.step_results import StepResults, facts, judge, step_results
from workshop.study.kinds import Kind, Report, Sofar, Watched, read
from workshop.study.results import CellResult, best, rate_of
from workshop.study.trials import RESULTS, Cell, interleave, status

HOPELESS = 0.5  # of the best rate of a step, below which a trial is ended early
WATCHED = 3.0  # seconds that it is watched before that
TRIAL = 13.0  # seconds of a trial without past runs: new ranks, TensorFlow's import and the compilation of its steps


def more(guide: Guide, sofar: Sofar) -> list[Trial]:
    """The next trials of the first unfinished step: each new cell once, then the repeats."""
    findings = step_results(guide, sofar)
    first = max((trial.number for trial in sofar.trials), default=0) + 1
    for step_key in findings.setting.steps:
        if new_trials := interleave(_new(findings, step_key), 1, first) or _repeat_trials(findings, step_key, first):
            return new_trials
    return []


def total(guide: Guide, sofar: Sofar) -> int:
    """The estimated number of trials. Later steps may depend on the results of earlier ones."""
    findings = step_results(guide, sofar)
    return len(sofar.trials) + sum(_ahead(findings, step_key) for step_key in findings.setting.steps)


def hopeless(guide: Guide, sofar: Sofar, trial: Trial, watched: Watched) -> str | None:
    """The reason why a trial is ended early: it has more threads than cores and does less than half the work of the
    step's best. A trial with a core for each thread may just have met a busy moment of the machine, so it goes on."""
    step_key = trial.point.get("step", "")
    pruned = step_key in guide.keys and step_key and guide.step(step_key).prune
    if not pruned or trial.repeat > 1 or watched.rate is None or watched.seconds < WATCHED:
        return None
    findings = step_results(guide, sofar)
    where = Placement.parse(trial.placement)
    threads = int(trial.point.get("env.TF_NUM_INTRAOP_THREADS") or where.threads_per_rank)
    leader = best(findings.results(step_key))
    if where.ranks * threads <= findings.setting.cores or leader is None or not leader.median:
        return None
    share = watched.rate / leader.median
    if share >= HOPELESS:
        return None
    done = f"After {words.seconds(watched.seconds)} it did {words.percent(share)}"
    return f"{done} of the work of {leader.label.partition(': ')[2]}."


def runs_left(findings: StepResults, step_key: str) -> int:
    """The number of runs that a step lacks: those without a result, and those that will probably follow."""
    unfinished = [trial for trial in findings.own_trials(step_key) if status(trial, findings.runs) not in RESULTS]
    return len(unfinished) + _ahead(findings, step_key)


def _ahead(findings: StepResults, step_key: str) -> int:
    """How many trials a step will probably still get."""
    cells = [cell for cell in _new(findings, step_key) if not cell.why]
    if not cells:
        return len(_repeat_trials(findings, step_key, 1))
    able = sum(not cell.why for cell in findings.cells(step_key))
    repeat = findings.guide.step(step_key).repeat  # which cells are repeated isn't known yet
    return len(cells) + (able if repeat == "all" else min(repeat, able)) * (findings.setting.repeats - 1)


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
    """The cells to repeat, chosen by their first completed trials, so that repeats don't change the choice."""
    rated: dict[str, tuple[float, Cell]] = {}
    for cell in findings.cells(step_key):
        runs = [findings.runs.get(trial.run_id or 0) for trial in findings.trials_of(step_key, cell)]
        rates = [rate_of(run, findings.rate(step_key)) for run in runs if run is not None and run.status == "completed"]
        if rates and rates[0] is not None:
            rated.setdefault(key(cell.params, cell.placement), (rates[0], cell))
    repeat, ordered = findings.guide.step(step_key).repeat, list(rated.values())
    if repeat != "all":
        ordered = sorted(ordered, key=lambda pair: -pair[0])[:repeat]
    return [cell for _, cell in ordered]


def expected(store: Store, setting: Setting, sofar: Sofar | None = None) -> Remaining:
    """The runs that the chosen steps of a study still need, with their estimated time. `sofar` is None for a study that
    isn't stored yet."""
    findings = StepResults(setting, sofar.trials if sofar else (), sofar.runs if sofar else {})
    runs = sum(runs_left(findings, step_key) for step_key in setting.steps)
    usual = usual_time(store, setting.workload, setting.params)
    each = usual.seconds if usual and usual.same_params else TRIAL
    known_by = "as such runs took here" if usual and usual.same_params else "which is a guess: none has run here yet"
    return Remaining(runs, runs * each, f"at {words.seconds(each)} a run, {known_by}")


State = Literal["waiting", "running", "partly", "done"]


@dataclass(frozen=True)
class StepReport:
    """One step and its results."""

    step: Step
    state: State  # partly: it has some of its results and isn't running
    cells: list[CellResult]
    facts: Mapping[str, Any]
    verdict: Mapping[str, str] | None  # None: not enough measured yet
    answer: Answer | None  # to the learners' question
    runs_left: int  # runs that it lacks

    @property
    def ended(self) -> int:
        """How many of its cells have a result."""
        return sum(cell.status in RESULTS for cell in self.cells)

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
    findings.events = lambda run: [event.value for event in store.events(run, [guide.events], rank=0)]
    steps = [_step(study, findings, step) for step in guide.steps]
    return GuidedReport(study, study_trials, runs, _verdict(steps, findings), findings, steps)


def _step(study: StudyRecord, findings: StepResults, step: Step) -> StepReport:
    key, lacking = step.key, runs_left(findings, step.key)
    going_on = any(status(trial, findings.runs) in ("running", "queued") for trial in findings.own_trials(key))
    state: State = "waiting"
    if study.state == "running" and going_on:
        state = "running"
    elif findings.begun(key):
        state = "done" if findings.done(key) and not lacking else "partly"
    step_facts = facts(findings, key)
    verdict = judge(step, step_facts)
    if verdict is None and state == "done":
        verdict = {
            "verdict": "Too few of its runs worked to compare anything.",
            "why": findings.failures(key) or "The runs have no results that this step compares.",
            "next": f"Fix that, then run the failed trials again: workshop study resume {study.id} --failed",
        }
    answered = answer(findings, key, step_facts)
    return StepReport(step, state, findings.results(key), step_facts, verdict, answered, lacking)


def _verdict(steps: Sequence[StepReport], findings: StepResults) -> Mapping[str, str]:
    """The verdict of the last step if there is one, else the progress of the study."""
    if steps[-1].verdict is not None:
        return steps[-1].verdict
    judged = {report.step.key: report.verdict["verdict"] for report in steps if report.verdict is not None}
    if not judged:
        return {
            "verdict": "Not enough measured yet.",
            "why": "No step has what it compares.",
            "next": f"Predict the result of step {findings.setting.steps[:1] or findings.guide.keys[0]}, then run it.",
        }
    following = next(report.step for report in steps if report.verdict is None)
    return {
        "verdict": f"{words.count(len(judged), 'step')} of {len(steps)} measured.",
        "why": " ".join(f"{key}: {sentence}" for key, sentence in judged.items()),
        "next": f"Next is step {following.key}: {following.title}.",
    }


def steps_in_words(keys: str) -> str:
    """Steps by their letters: steps a and b."""
    return f"step{'' if len(keys) == 1 else 's'} {words.listed(keys)}" if keys else "no step yet"


def _seconds(guide: Guide, store: Store, sofar: Sofar) -> tuple[float, str]:
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
        partial(_seconds, guide),
        cards="workshop.study.guided.cards:cards",
        view="workshop.web.pages.study_view:view",
        elsewhere=f"`workshop study run {guide.kind}`, or the dashboard's page {guide.page}",
    )
