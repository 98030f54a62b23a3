"""The data and functions that a capability brings for a guided study."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict

if TYPE_CHECKING:
    from workshop.store.store import Store
    from workshop.study.guided.guesses import Answer
    from workshop.study.guided.step_results import StepResults
    from workshop.study.trials import Cell

Verdict = dict[str, str]  # verdict, why, next


class Step(BaseModel):
    """One step."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    key: str
    short: str  # for a row of buttons
    title: str
    asks: str
    question: str  # that learners answer beforehand
    number: tuple[Any, ...] = ()
    answer: str
    vary: Mapping[str, tuple[Any, ...] | str] = {}
    label: str = ""
    names: Mapping[Any, str] = {}
    means: Mapping[str, str] = {}  # explanations of its settings
    lacking: str = ""
    length: Mapping[str, int] = {}
    params: Mapping[str, Any] = {}
    own_batch: bool = False
    spread: bool = False
    repeat: int | Literal["all"] = 0
    overall: bool = False
    prune: bool = False
    anew: bool = False
    figure: str
    published: str  # the published results
    explain: str
    words: Mapping[str, str | Verdict]

    def name(self, value: Any) -> str:
        """A value of an axis in a cell's label."""
        return self.names.get(value, self.names.get("other", str(value)))

    def say(self, name: str, **facts: Any) -> str:
        """One of the step's sentences."""
        return str(self.words[name]).format(**facts)

    def judge(self, name: str, **facts: Any) -> Verdict:
        """One of the step's verdicts: verdict, why and next."""
        texts = self.words[name]
        assert not isinstance(texts, str), "a verdict has three parts"
        return {part: text.format(**facts).strip() for part, text in texts.items()}


Events = Mapping[str, Mapping[str, Any]]  # by name and cell; each has `as_json`


@dataclass(frozen=True, eq=False)
class Guide:
    """A guided study: its data, and what only its capability knows.

    The workload names the param that its ranks share (`Scaling.share`) and the param that sets the length of a trial
    (`Tuning.length`). `reserved` names the params that nobody may set, because steps vary them or fix them for all
    trials. `length` maps the name of a setting to the length of a trial. `time_params` names the params on which the
    duration of a run depends.

    `cells(findings, step)` returns the cells of a step. `later(findings, step)` returns the placements of further cells
    that depend on other steps. `events(store, findings)` reads the events of runs. `judge(findings, key, events)`
    returns the verdict of a step, or None where the step hasn't measured enough. `answers` maps the name of an answer
    in `steps.yaml` to a function that computes it, or returns None while it is not known. `figures` is a reference to
    the capability's own figures (`workshop.study.guided.cards:Figures`); empty: it has none. `hosts` is how many hosts
    its session needs, 0: any session; `start` is a command that starts such a session.
    """

    kind: str
    workload: str
    title: str
    reference: str  # the publication that the study follows, in a word
    source: str  # the same in full
    others: str  # a sentence that stands beside its figures
    page: str  # the title of the page that shows it
    reserved: Collection[str]
    length: Mapping[str, int]
    time_params: Collection[str]
    steps: tuple[Step, ...]
    cells: Callable[[StepResults, Step], list[Cell]]
    judge: Callable[[StepResults, str, Events], Verdict | None]
    later: Callable[[StepResults, Step], list[Mapping[str, Any]]] = lambda findings, step: []
    events: Callable[[Store, StepResults], Events] = lambda store, findings: {}
    answers: Mapping[str, Callable[[StepResults, str, Events], Answer | None]] = field(default_factory=dict)
    figures: str = ""
    hosts: int = 0
    start: str = ""

    @classmethod
    def read(cls, package: str, **capability: Any) -> Guide:
        """A guide from the file steps.yaml of a package; `capability` has the fields that the file doesn't have."""
        data = yaml.load(  # the loader in C takes a tenth of the time
            files(package).joinpath("steps.yaml").read_text(encoding="utf-8"),
            Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader),
        )
        return cls(**{**data, "steps": tuple(Step(**step) for step in data["steps"])}, **capability)

    @cached_property
    def keys(self) -> str:
        """The letters of all steps."""
        return "".join(step.key for step in self.steps)

    @cached_property
    def anew(self) -> str:
        """The letter of the step that measures everything anew; "" if there is none."""
        return next((step.key for step in self.steps if step.anew), "")

    def step(self, key: str) -> Step:
        """The step of that letter."""
        return self.steps[self.keys.index(key)]

    def chosen(self, keys: str) -> str:
        """Those letters that are steps, in the steps' order."""
        return "".join(key for key in self.keys if key in keys)
