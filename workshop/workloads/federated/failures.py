"""Federations that go wrong in instructive ways, ready to run, each with the one that mends it.

What the guided failures of placements are for ranks, these are for federated learning: here it isn't the placement that
is wrong, but what institutions send, or what is made of it. `failures.yaml` describes them.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal

import yaml

from workshop.core.errors import BadInput

OPENFL = "openfl"  # the workload that needs an environment of its own
Which = Literal["broken", "fixed"]
SIDES: tuple[Which, ...] = ("broken", "fixed")


@dataclass(frozen=True)
class FederatedFailure:
    """A federation that fails, and its fix. Both runs have `params`; `broken` and `fixed` are what they differ in."""

    name: str
    title: str
    mistake: str  # what is done wrong, in one sentence
    fix: str  # what mends it
    look_for: str
    verdict: str  # words by which the verdict of the broken run names it
    mended: str  # words by which the verdict of the fixed run tells that it is well
    workload: str
    params: Mapping[str, Any]
    broken: Mapping[str, Any]
    fixed: Mapping[str, Any]

    @property
    def needs_openfl(self) -> bool:
        return self.workload == OPENFL

    def params_of(self, which: Which) -> dict[str, Any]:
        """All params of one of the two runs."""
        return {**self.params, **(self.broken if which == "broken" else self.fixed)}

    def command(self, which: Which) -> str:
        """What to type for one of the two runs."""
        first = ["workshop", "federation", "start"] if self.needs_openfl else ["workshop", "run", self.workload]
        given = self.params_of(which).items()
        return shlex.join([*first, *(word for name, value in given for word in (_option(name), str(value)))])

    def as_json(self) -> dict[str, Any]:
        """All of it, with the commands of both runs."""
        told = {name: value for name, value in asdict(self).items() if isinstance(value, str)}
        both = {which: {"params": self.params_of(which), "command": self.command(which)} for which in SIDES}
        return {**told, "needs_openfl": self.needs_openfl, **both}


def _option(name: str) -> str:
    return f"--{name.replace('_', '-')}"


@cache
def federated_failures() -> tuple[FederatedFailure, ...]:
    """All of them: those of our own ranks first, which take seconds, then those of OpenFL, which take minutes."""
    file = Path(__file__).with_suffix(".yaml")
    return tuple(FederatedFailure(**one) for one in yaml.safe_load(file.read_text(encoding="utf-8")))


def federated_failure(name: str) -> FederatedFailure:
    """One of them. Raises BadInput for another name."""
    known = {one.name: one for one in federated_failures()}
    if name not in known:
        raise BadInput(f"There is no failure {name!r}; there are {', '.join(known)}.")
    return known[name]


def openfl_failure(fault: object) -> FederatedFailure | None:
    """The one that a run over OpenFL with this `fault` shows; None where nothing is broken on purpose."""
    return next((one for one in federated_failures() if one.needs_openfl and one.broken["fault"] == fault), None)
