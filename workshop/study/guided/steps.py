"""The nine steps as data: `steps.yaml` says what each asks, varies and shows, and with which words."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.resources import files
from typing import Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict

from workshop.study.references import PUBLISHED

SOURCE = next(one.source for one in PUBLISHED if one.what == "S-GAN")
OTHERS = "Their images, net and machine were others: compare what helped and what didn't, not the numbers."
Verdict = dict[str, str]  # verdict, why, next


class Step(BaseModel):
    """One step; `steps.yaml` explains the fields."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    key: str
    short: str  # for a row of buttons
    title: str
    asks: str
    question: str  # that learners answer beforehand
    number: tuple[Any, ...] = ()
    answer: Literal["threads", "gain", "winner", "growth", "share", "whole"]
    vary: Mapping[str, tuple[Any, ...] | str] = {}
    label: str = ""
    names: Mapping[Any, str] = {}
    means: Mapping[str, str] = {}  # what its settings are, where their names don't say it
    lacking: str = ""
    iterations: Mapping[str, int] = {}
    params: Mapping[str, Any] = {}
    own_batch: bool = False
    spread: bool = False
    repeat: int | Literal["all"] = 0
    overall: bool = False
    prune: bool = False
    anew: bool = False
    shown: Literal["profile", "grid", "memory", "bars", "shares", "waterfall"]
    article: str  # the article's own figures
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
        return {part: text.format(**facts).strip() for part, text in dict(self.words[name]).items()}


_DATA = yaml.load(  # the loader in C takes a tenth of the time
    files("workshop.study.guided").joinpath("steps.yaml").read_text(encoding="utf-8"),
    Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader),
)
WORKLOAD: str = _DATA["workload"]
TITLE: str = _DATA["title"]
STEPS = tuple(Step(**one) for one in _DATA["steps"])
KEYS = "".join(one.key for one in STEPS)
ANEW = next(one.key for one in STEPS if one.anew)


def step(key: str) -> Step:
    """The step of that letter."""
    return STEPS[KEYS.index(key)]
