"""What a capability brings for a guided study."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import yaml

from workshop.study.guided.steps import Step, Verdict

if TYPE_CHECKING:
    from workshop.store.store import Store
    from workshop.study.guided.guesses import Answer
    from workshop.study.guided.step_results import StepResults
    from workshop.study.trials import Cell

Events = Mapping[str, Mapping[str, Any]]  # by name and cell; each has `as_json`


@dataclass(frozen=True, eq=False)
class Guide:
    """A guided study: its data, and what only its capability knows.

    The workload has the params `batch` and `iterations`. `taken` names those params that nobody may set, because steps
    vary them or hold them for all trials. `iterations` are a trial's by the name of the setting. `alike` names the
    params by which a run takes its time.

    `cells(found, step)` are the cells of a step, and `later(found, step)` the placements of further ones that nobody
    knows before other steps have been run. `events(store, found)` reads what runs told while they went on.
    `judge(found, key, events)` is the verdict of a step, None where it hasn't measured enough. `answers` are what came
    out, by the name that steps have for it, None where it isn't known yet.
    """

    kind: str
    workload: str
    title: str
    reference: str  # what the study follows, in a word
    source: str  # the same in full
    others: str  # a sentence that stands beside its figures
    page: str  # the title of the page that shows it
    taken: Collection[str]
    iterations: Mapping[str, int]
    alike: Collection[str]
    steps: tuple[Step, ...]
    cells: Callable[[StepResults, Step], list[Cell]]
    later: Callable[[StepResults, Step], list[Mapping[str, Any]]]
    events: Callable[[Store, StepResults], Events]
    judge: Callable[[StepResults, str, Events], Verdict | None]
    answers: Mapping[str, Callable[[StepResults, str, Events], Answer | None]]

    @classmethod
    def read(cls, package: str, **own: Any) -> Guide:
        """A guide from the file steps.yaml of a package, and `own`, which is all that the file doesn't have."""
        data = yaml.load(  # the loader in C takes a tenth of the time
            files(package).joinpath("steps.yaml").read_text(encoding="utf-8"),
            Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader),
        )
        return cls(**{**data, "steps": tuple(Step(**one) for one in data["steps"])}, **own)

    @cached_property
    def keys(self) -> str:
        """The letters of all steps."""
        return "".join(one.key for one in self.steps)

    @cached_property
    def anew(self) -> str:
        """The letter of the step that measures everything anew."""
        return next(one.key for one in self.steps if one.anew)

    def step(self, key: str) -> Step:
        """The step of that letter."""
        return self.steps[self.keys.index(key)]

    def chosen(self, keys: str) -> str:
        """Those letters that are steps, in the steps' order."""
        return "".join(key for key in self.keys if key in keys)
