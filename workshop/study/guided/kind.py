"""The guided study as a kind of study: what it has found so far, step by step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from workshop.core import words
from workshop.store.records import RunRecord, StudyRecord, Trial
from workshop.store.store import Store
from workshop.study.guided import expecting, plan
from workshop.study.guided.found import Found
from workshop.study.guided.guesses import Answer, said
from workshop.study.guided.memory import Growth, growth
from workshop.study.guided.planning import ahead, found_of, going_on, hopeless, more, total, unfinished
from workshop.study.guided.saying import Grown, failures
from workshop.study.guided.steps import SOURCE, STEPS, Step
from workshop.study.kinds import Kind, Sofar, read
from workshop.study.report import study_json, trial_json
from workshop.study.results import CellResult

State = Literal["waiting", "running", "partly", "done"]
REMEMBERED = "e"  # the step whose runs' memory is read


@dataclass(frozen=True)
class StepReport:
    """One step and what it has found."""

    step: Step
    state: State  # partly: it has some of its results, and nobody is at work on it
    cells: list[CellResult]
    verdict: dict[str, str] | None  # verdict, why, next; None: not enough measured yet
    answer: Answer | None  # to what learners predict
    left: int  # runs that it lacks

    def as_json(self, found: Found) -> dict[str, Any]:
        ask = self.step.ask(found)
        return {
            "step": self.step.key,
            "title": self.step.title,
            "state": self.state,
            "verdict": self.verdict,
            "question": ask.question,
            "answer": said(ask, self.answer.value) if self.answer else None,
            "article": self.step.article,
            "cells": [cell.as_json() for cell in self.cells],
        }


@dataclass(frozen=True)
class PathReport:
    """The guided study and what it has found."""

    study: StudyRecord
    trials: Sequence[Trial]
    runs: Mapping[int, RunRecord]
    found: Found
    steps: list[StepReport]
    grown: Grown  # resident memory by the way of inference
    verdict: dict[str, str]

    @property
    def setting(self) -> plan.Setting:
        return self.found.setting

    @property
    def unit(self) -> str:
        return self.setting.unit

    def step(self, key: str) -> StepReport:
        return next(one for one in self.steps if one.step.key == key)

    def as_json(self) -> dict[str, Any]:
        """The document of `workshop study run|show|resume --json`."""
        return {
            **study_json(self.study),
            "setting": self.setting.name,
            "unit": self.unit,
            "params": dict(self.setting.params),
            "source": SOURCE,
            "steps": [one.as_json(self.found) for one in self.steps],
            "memory": {way: one.as_json() for way, one in self.grown.items()},
            "verdict": self.verdict,
            "trials": [trial_json(trial, self.runs, self.setting.rate) for trial in self.trials],
        }


def title(study: StudyRecord) -> str:
    """The guided study in a few words."""
    setting = plan.Setting.read(study.description)
    some = "" if setting.steps == plan.STEPS else f", {steps_in_words(setting.steps)}"
    return f"the article's path, {setting.name}{some}"


def path_report(store: Store, study: StudyRecord) -> PathReport:
    """What a guided study has found so far."""
    trials, runs = read(store, study.id)
    found = found_of(Sofar(study, trials, runs))
    grown = _grown(store, found)
    now = going_on(found)
    at_work = now.point.get("step") if now is not None and study.state == "running" else None
    steps = []
    for step in STEPS:
        left = len(unfinished(found, step.key)) + len(ahead(found, step.key))
        state: State = "waiting"
        if step.key == at_work:
            state = "running"
        elif found.begun(step.key):
            state = "done" if found.done(step.key) and not left else "partly"
        told = step.judge(found, grown)
        if told is None and state == "done":
            told = _nothing(study, found, step.key)
        steps.append(StepReport(step, state, found.results(step.key), told, step.answer(found, grown), left))
    return PathReport(study, trials, runs, found, steps, grown, _verdict(steps, found))


def _verdict(steps: Sequence[StepReport], found: Found) -> dict[str, str]:
    """Of the last step where it has one, else how far it is."""
    if steps[-1].verdict is not None:
        return steps[-1].verdict
    judged = [one for one in steps if one.verdict is not None]
    if not judged:
        return {
            "verdict": "Not enough measured yet.",
            "why": "No step has what it compares.",
            "next": f"Predict what comes out of step {found.setting.steps[:1] or 'a'}, then run it.",
        }
    last = judged[-1]
    waiting = [one.step.key for one in steps if one.verdict is None]
    return {
        "verdict": f"{words.count(len(judged), 'step')} of {len(steps)} measured.",
        "why": " ".join(f"{one.step.key}: {one.verdict['verdict']}" for one in judged if one.verdict),
        "next": f"Next is step {waiting[0]}: {steps[ord(waiting[0]) - ord('a')].step.title}."
        if waiting
        else (last.verdict or {}).get("next", ""),
    }


def _nothing(study: StudyRecord, found: Found, step: str) -> dict[str, str]:
    """Of a step too many of whose runs have failed."""
    return {
        "verdict": "Too few of its runs worked to compare anything.",
        "why": failures(found, step) or "They ended without telling what this step looks at.",
        "next": f"Mend that, then run what failed once more: workshop study resume {study.id} --failed",
    }


def _grown(store: Store, found: Found) -> dict[str, Growth]:
    told = {}
    for one in found.results(REMEMBERED):
        run = found.run(one)
        if run is not None:
            values = [event.value for event in store.events(run.id, ["memory"], rank=0)]
            if (how := growth(values)) is not None:
                told[one.point["inference"]] = how
    return told


def steps_in_words(keys: str) -> str:
    return f"step{'' if len(keys) == 1 else 's'} {words.listed(keys)}" if keys else "no step yet"


def seconds(store: Store, sofar: Sofar) -> tuple[float, str]:
    """How long a guided study is still likely to take, and from what that is known."""
    told = expecting.expected(store, sofar)
    return told.seconds, told.why


KIND = Kind(plan.KIND, title, path_report, more, total, hopeless, seconds)
