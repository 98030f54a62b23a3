"""A guided study as data, and the functions that a capability adds."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from importlib.resources import files
from typing import Any, Literal

import yaml
from pydantic import BaseModel

from workshop.report.rules import Rule, Text


class Step(BaseModel, frozen=True, extra="forbid"):
    """One step: a question to learners, the grid that answers it, and what is said of the result.

    `vary` has the axes of the grid: params, `env.NAME` (a variable of the ranks) or fields of the placement, with their
    values, or with the name of values that depend on the machine (`plan.Setting.values`). `changes` says what a value
    stands for. `label` is the label of a cell by its values, for which `names` has other names.

    `number` are the unit, the least, the largest, and the step of a guess that is a number; without it, the guess is
    the fastest cell. `answer` names the number among the facts (`step_results.facts`), and `answer`_margin its
    uncertainty. The first of `rules` that holds is the verdict; `sentences` can be used like facts in it.
    """

    key: str
    short: str  # for a row of buttons
    title: str
    asks: str
    question: str
    number: tuple[Any, ...] = ()
    answer: str = "gain"
    vary: Mapping[str, tuple[Any, ...] | str] = {}
    changes: Mapping[str, Mapping[str, Any]] = {}
    label: str = "{}"
    names: Mapping[Any, str] = {}
    means: Mapping[str, str] = {}  # explanations of its settings
    length: Mapping[str, int] = {}  # of its trials, by the name of the setting
    params: Mapping[str, Any] = {}
    horovod: Mapping[str, Any] = {}  # params where Horovod is built
    best_of: str = ""  # an earlier step, whose fastest placement of several ranks it takes
    own_batch: bool = False  # each rank has a batch of its own, and all numbers of ranks read as many images
    repeat: int | Literal["all"] = 0  # how many of the fastest cells are repeated
    overall: bool = False  # it compares work over training and evaluation together
    prune: bool = False  # hopeless trials are ended early
    anew: bool = False  # the last step: stages on top of each other, all measured anew
    figure: str = "grid"
    published: str
    explain: str
    sentences: Mapping[str, Text] = {}
    rules: tuple[Rule, ...]

    def name(self, value: Any) -> str:
        """A value of an axis in a cell's label."""
        return self.names.get(value, self.names.get("other", str(value)))


class Guide(BaseModel, frozen=True, extra="forbid"):
    """A guided study. Its workload names the param that ranks share (`Scaling.share`) and the one that sets the length
    of a trial (`Tuning.length`).

    A value of `params` that is the name of a param of the study, or `cores`, stands for its value. The capability's own
    functions are references: `stages(findings)` returns the cells of the last step, `facts(findings, step, order)`
    further facts of a step (`order`: its measured cells, the best first), and `figures` are its own figures
    (`cards.Figures`).
    """

    kind: str
    workload: str
    title: str
    reference: str  # the publication that the study follows, in a word
    source: str  # the same in full
    others: str  # a sentence that stands beside its figures
    page: str  # the title of the page that shows it
    reserved: frozenset[str]  # params that nobody may set: steps vary them, or hold them for all trials
    length: Mapping[str, int]  # of a trial, by the name of the setting
    params: Mapping[str, Any] = {}  # of every trial
    events: str = ""  # the name of events that its facts need
    steps: tuple[Step, ...]
    stages: str = ""
    facts: str = ""
    figures: str = ""
    hosts: int = 0  # that its session needs; 0: any session
    start: str = ""  # a command that starts such a session

    @classmethod
    def read(cls, package: str) -> Guide:
        """The guide in the file steps.yaml of a package."""
        text = files(package).joinpath("steps.yaml").read_text(encoding="utf-8")
        # The loader in C takes a tenth of the time.
        return cls(**yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)))

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
