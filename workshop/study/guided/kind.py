"""A guided study as a kind of study: what it has found so far, step by step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

from workshop.core import words
from workshop.store.records import StudyRecord
from workshop.store.store import Store
from workshop.study.guided import trials
from workshop.study.guided.guesses import Answer, said
from workshop.study.guided.guide import Events, Guide
from workshop.study.guided.plan import Setting
from workshop.study.guided.questions import answer, ask
from workshop.study.guided.step_results import StepResults, step_results
from workshop.study.guided.steps import Step, Verdict
from workshop.study.kinds import Kind, Sofar, read
from workshop.study.report import Report
from workshop.study.results import CellResult

State = Literal["waiting", "running", "partly", "done"]


@dataclass(frozen=True)
class StepReport:
    """One step and what it has found."""

    step: Step
    state: State  # partly: it has some of its results, and nobody is at work on it
    cells: list[CellResult]
    verdict: Verdict | None  # None: not enough measured yet
    answer: Answer | None  # to what learners predict
    left: int  # runs that it lacks

    @property
    def ended(self) -> int:
        """How many of its cells have a result."""
        return sum(cell.status in ("completed", "failed", "pruned") for cell in self.cells)

    def as_json(self, found: StepResults) -> dict[str, Any]:
        question = ask(found, self.step.key)
        return {
            "step": self.step.key,
            "title": self.step.title,
            "state": self.state,
            "verdict": self.verdict,
            "question": question.question,
            "answer": said(question, self.answer.value) if self.answer else None,
            found.guide.reference: self.step.published,
            "cells": [cell.as_json() for cell in self.cells],
        }


@dataclass(frozen=True)
class GuidedReport(Report):
    """A guided study and what it has found."""

    found: StepResults
    steps: list[StepReport]
    events: Events  # what the guide has read of its runs' events

    @property
    def setting(self) -> Setting:
        return self.found.setting

    def step(self, key: str) -> StepReport:
        return self.steps[self.found.guide.keys.index(key)]

    def findings(self) -> dict[str, Any]:
        return {
            "setting": self.setting.name,
            "unit": self.unit,
            "params": dict(self.setting.params),
            "source": self.found.guide.source,
            "steps": [one.as_json(self.found) for one in self.steps],
            **{name: {cell: one.as_json() for cell, one in told.items()} for name, told in self.events.items()},
        }


def title(guide: Guide, study: StudyRecord) -> str:
    """A guided study in a few words."""
    setting = Setting.read(guide, study.description)
    some = "" if setting.steps == guide.keys else f", {steps_in_words(setting.steps)}"
    return f"{guide.title[0].lower()}{guide.title[1:]}, {setting.name}{some}"


def guided_report(guide: Guide, store: Store, study: StudyRecord) -> GuidedReport:
    """What a guided study has found so far."""
    own, runs = read(store, study.id)
    found = step_results(guide, Sofar(study, own, runs))
    events = guide.events(store, found)
    steps = [_step(study, found, events, one) for one in guide.steps]
    return GuidedReport(study, own, runs, _verdict(steps, found), found, steps, events)


def _step(study: StudyRecord, found: StepResults, events: Events, one: Step) -> StepReport:
    now, key = trials.going_on(found), one.key
    left = len(trials.unfinished(found, key)) + len(trials.ahead(found, key))
    state: State = "waiting"
    if study.state == "running" and now is not None and now.point.get("step") == key:
        state = "running"
    elif found.begun(key):
        state = "done" if found.done(key) and not left else "partly"
    told = found.guide.judge(found, key, events)
    if told is None and state == "done":
        told = {
            "verdict": "Too few of its runs worked to compare anything.",
            "why": found.failures(key) or "They ended without telling what this step looks at.",
            "next": f"Mend that, then run what failed once more: workshop study resume {study.id} --failed",
        }
    return StepReport(one, state, found.results(key), told, answer(found, key, events), left)


def _verdict(steps: Sequence[StepReport], found: StepResults) -> Verdict:
    """Of the last step where it has one, else how far it is."""
    if steps[-1].verdict is not None:
        return steps[-1].verdict
    judged = {one.step.key: one.verdict["verdict"] for one in steps if one.verdict is not None}
    if not judged:
        return {
            "verdict": "Not enough measured yet.",
            "why": "No step has what it compares.",
            "next": f"Predict what comes out of step {found.setting.steps[:1] or found.guide.keys[0]}, then run it.",
        }
    following = next(one.step for one in steps if one.verdict is None)
    return {
        "verdict": f"{words.count(len(judged), 'step')} of {len(steps)} measured.",
        "why": " ".join(f"{key}: {told}" for key, told in judged.items()),
        "next": f"Next is step {following.key}: {following.title}.",
    }


def steps_in_words(keys: str) -> str:
    return f"step{'' if len(keys) == 1 else 's'} {words.listed(keys)}" if keys else "no step yet"


def seconds(guide: Guide, store: Store, sofar: Sofar) -> tuple[float, str]:
    """How long a guided study is still likely to take, and from what that is known."""
    told = trials.expected(store, Setting.read(guide, sofar.study.description), sofar)
    return told.seconds, told.why


def kind(guide: Guide) -> Kind:
    """The kind of study that a guide is."""
    return Kind(
        guide.kind,
        partial(title, guide),
        partial(guided_report, guide),
        partial(trials.more, guide),
        partial(trials.total, guide),
        partial(trials.hopeless, guide),
        partial(seconds, guide),
    )
