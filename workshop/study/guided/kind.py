"""A guided study as a kind of study: its next trials, its report, step by step, and the learners' guesses."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import Any, Literal

from workshop.core import words
from workshop.core.errors import BadInput
from workshop.store.records import StudyRecord, Trial
from workshop.store.store import Store
from workshop.study.grid.kind import best_again
from workshop.study.guided.plan import Guide, Setting, Step
from workshop.study.guided.step_results import StepResults, facts, judge, key, name, step_results
from workshop.study.kinds import Kind, Remaining, Report, Sofar, read, remaining_work
from workshop.study.results import CellResult
from workshop.study.trials import RESULTS, Cell, interleave, status


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


def ahead(store: Store, report: GuidedReport, step_key: str) -> Remaining:
    """The runs that one step of a study still needs."""
    description = report.setting.wanting(step_key).description()
    return remaining_work(
        store, Sofar(replace(report.study, description=description, finished_at=None), report.trials, report.runs)
    )


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
    repeated = able if repeat == "all" else min(repeat + bool(repeat), able)
    return len(cells) + repeated * (findings.setting.repeats - 1)


def _new(findings: StepResults, step_key: str) -> list[Cell]:
    """The cells of a step without trials, each once."""
    new_cells: dict[str, Cell] = {}
    for cell in findings.cells(step_key):
        if not findings.trials_of(step_key, cell):
            new_cells.setdefault(key(cell.params, cell.placement), cell)
    return list(new_cells.values())


def _repeat_trials(findings: StepResults, step_key: str, first: int) -> list[Trial]:
    """Repeats of a step's fastest cells and of its slowest one, or of all its cells, in rounds."""
    repeat = findings.guide.step(step_key).repeat
    cells = {key(result.params, result.placement): result for result in reversed(findings.results(step_key))}
    trials = [
        replace(trial, label=cell.label, point=dict(cell.point))
        for cell in cells.values()
        for trial in findings.trials_of(step_key, Cell(cell.label, cell.params, cell.placement))
    ]
    best = {"cells": len(cells) if repeat == "all" else repeat, "repeats": findings.setting.repeats, "slowest": 1}
    return best_again(trials, list(cells.values()), best if repeat else None, 1, first)


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


def kind(guide: Guide) -> Kind:
    """The kind of study that a guide describes."""
    return Kind(
        guide.kind,
        partial(title, guide),
        partial(guided_report, guide),
        partial(more, guide),
        partial(total, guide),
        cards="workshop.study.guided.cards:cards",
        view="workshop.web.pages.study_view:view",
        elsewhere=f"`workshop study run {guide.kind}`, or the dashboard's page {guide.page}",
    )


NEAR = 0.15  # share of the measured value within which a guess is right
LOOKED = "shown"  # stored key for learners who looked without a guess


@dataclass(frozen=True)
class NumberGuess:
    """A guess that is a number. Its unit may be x: times as fast."""

    question: str
    unit: str
    low: float = -1e12
    high: float = 1e12
    step: float = 0.01


@dataclass(frozen=True)
class ChoiceGuess:
    """A guess that is one of several."""

    question: str
    options: tuple[str, ...]


@dataclass(frozen=True)
class Answer:
    """The measured answer: a number, or the best option and options that may be equally good."""

    value: float | str
    ties: tuple[str, ...] = ()
    margin: float = 0.0  # uncertainty of a number


Ask = NumberGuess | ChoiceGuess


def check(ask: Ask, value: Any) -> float | str:
    """A guess in the form in which it is stored. Raises BadInput for an invalid guess."""
    if isinstance(ask, ChoiceGuess):
        if value not in ask.options:
            raise BadInput(f"The guess is {str(value)[:40]!r}; it should be {words.listed(ask.options)}.")
        return str(value)
    usable = isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
    if not usable or not ask.low <= value <= ask.high:
        raise BadInput(f"The guess is {str(value)[:40]}; it should be a number from {ask.low:g} to {ask.high:g}.")
    return float(value)


def in_words(ask: Ask, value: float | str) -> str:
    """A guess or an answer in words: 1.50×, 40 %, 25 threads, 3 MB."""
    if isinstance(ask, ChoiceGuess) or isinstance(value, str):
        return str(value)
    return words.times(value) if ask.unit == "x" else words.quantity(value, ask.unit)


def right(ask: Ask, guess: float | str, answer: Answer) -> bool:
    """Whether a guess is right within the uncertainty."""
    if isinstance(guess, str) or isinstance(answer.value, str):
        return guess == answer.value or guess in answer.ties
    slack = max(NEAR * abs(answer.value), answer.margin)
    return abs(guess - answer.value) <= slack


def score(ask: Ask, guess: float | str, answer: Answer) -> str:
    """One sentence with the guess and the measured answer."""
    guess_text, measured = in_words(ask, guess), in_words(ask, answer.value)
    if isinstance(guess, str) or isinstance(answer.value, str):
        if guess == answer.value:
            return f"You guessed {guess_text}, and so it is."
        if guess in answer.ties:
            return f"You guessed {guess_text}. Measured: {measured}, but the two can't be told apart, so you are right."
        return f"You guessed {guess_text}. Measured: {measured}."
    if right(ask, guess, answer):
        return f"You guessed {guess_text}, measured {measured}: that is near enough."
    side = "too high" if guess > answer.value else "too low"
    if getattr(ask, "unit", "") in ("x", "points") or answer.value <= 0:
        return f"You guessed {guess_text}, measured {measured}: {side}."
    by = max(guess, answer.value) / max(min(guess, answer.value), 1e-9)
    far = f"{by:.1f} times" if by < 100 else "far"
    return f"You guessed {guess_text}, measured {measured}: {far} {side}."


def stored_guess(value: Any) -> float | str | None:
    """The guess from its stored form; None for somebody who only looked."""
    return value.get("guess") if isinstance(value, dict) else None


def tally(ask: Ask, guesses: Sequence[float | str], most: int = 8) -> list[tuple[str, int]]:
    """The number of guesses for each option, or for at most `most` equal ranges of numbers."""
    if isinstance(ask, ChoiceGuess):
        return [(option, sum(guess == option for guess in guesses)) for option in ask.options]
    numbers = sorted(float(guess) for guess in guesses if not isinstance(guess, str))
    if not numbers:
        return []
    low, high = numbers[0], numbers[-1]
    if len(set(numbers)) <= most:
        return [(in_words(ask, number), numbers.count(number)) for number in sorted(set(numbers))]
    edges = [low + place * (high - low) / most for place in range(most + 1)]
    places = [min(bisect_right(edges, number) - 1, most - 1) for number in numbers]
    names = [f"{in_words(ask, begin)} to {in_words(ask, end)}" for begin, end in pairwise(edges)]
    return [(text, places.count(place)) for place, text in enumerate(names)]


def ask(findings: StepResults, step_key: str) -> Ask:
    """A step's question. The options of a choice are the cells of the step."""
    step = findings.setting.guide.step(step_key)
    if step.number:
        return NumberGuess(step.question, *step.number)
    return ChoiceGuess(step.question, tuple(map(name, findings.results(step_key))))


def answer(findings: StepResults, step_key: str, facts: Mapping[str, Any]) -> Answer | None:
    """The answer to a step's question, given its facts; None while it is unknown."""
    step = findings.setting.guide.step(step_key)
    if not findings.done(step_key):
        return None
    if step.number:
        value, margin = facts.get(step.answer), facts.get(f"{step.answer}_margin", 0.0)
        return Answer(float(value), margin=margin) if value is not None else None
    return Answer(facts["best"], tuple(facts.get("ties", ()))) if "best" in facts else None
