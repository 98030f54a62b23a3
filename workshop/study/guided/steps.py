"""The steps of a guided study as data: `steps.yaml` of a capability says what each asks, varies and shows.

`vary` names the axes of a step's grid and their values: a list, or what the setting gives by that name
(`Setting.values`). `label` calls a cell by its values, which `names` may replace. `iterations` and `params` are set in
all cells; with `spread` they run on the fastest placement that has several ranks, with `own_batch` each rank brings a
batch of its own. `lacking` is why a cell with an MPI that isn't installed can't be run. `repeat` says how many of the
fastest cells are run again; with `overall` cells are compared by training and evaluation together, with `prune` a
hopeless trial is ended early, with `anew` the step shares no trial with others. One step is measured `anew`.

A step's question is answered by a number (unit, lowest, highest, step, start) or by the name of a cell. `answer` names
one of the guide's answers, `shown` one of its figures, and `words` are the sentences of the verdict.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

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
    shown: str
    published: str  # the figures of those whom the study follows
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
