"""Federations that go wrong in instructive ways, ready to run, each with its fix.

Guided failures of placements are mistakes in a placement. These are mistakes in what institutions send, or in how the
aggregator uses it. `failures.yaml` describes them.
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
    """A federation that fails, and its fix. Both runs have `params`; they differ in `broken` and `fixed`."""

    name: str
    title: str
    mistake: str  # the mistake, in one sentence
    fix: str  # what mends it
    look_for: str
    verdict: str  # words in the verdict of the broken run that name the mistake
    mended: str  # words in the verdict of the fixed run that say that it is healthy
    workload: str
    params: Mapping[str, Any]
    broken: Mapping[str, Any]
    fixed: Mapping[str, Any]

    @property
    def needs_openfl(self) -> bool:
        return self.workload == OPENFL

    def params_of(self, which: Which) -> dict[str, Any]:
        """Return all params of one of the two runs."""
        return {**self.params, **(self.broken if which == "broken" else self.fixed)}

    def command(self, which: Which) -> str:
        """Return the command line of one of the two runs."""
        first = ["workshop", "federation", "start"] if self.needs_openfl else ["workshop", "run", self.workload]

        options = ((f"--{name.replace('_', '-')}", str(value)) for name, value in self.params_of(which).items())
        return shlex.join([*first, *(word for option in options for word in option)])

    def as_json(self) -> dict[str, Any]:
        """Return all fields, with the commands of both runs."""
        texts = {name: value for name, value in asdict(self).items() if isinstance(value, str)}
        both = {which: {"params": self.params_of(which), "command": self.command(which)} for which in SIDES}
        return {**texts, "needs_openfl": self.needs_openfl} | both


@cache
def federated_failures() -> tuple[FederatedFailure, ...]:
    """Return all failures: first those on our own ranks, which take seconds, then those over OpenFL, which take
    minutes."""
    file = Path(__file__).with_suffix(".yaml")
    return tuple(FederatedFailure(**entry) for entry in yaml.safe_load(file.read_text(encoding="utf-8")))


def federated_failure(name: str) -> FederatedFailure:
    """Return the failure of that name. Raises BadInput for an unknown name."""
    failures = {failure.name: failure for failure in federated_failures()}
    if name not in failures:
        raise BadInput(f"There is no failure {name!r}; there are {', '.join(failures)}.")
    return failures[name]


def openfl_failure(fault: object) -> FederatedFailure | None:
    """Return the failure that a run over OpenFL with this `fault` shows; None where nothing is broken on purpose."""
    return next(
        (failure for failure in federated_failures() if failure.needs_openfl and failure.broken["fault"] == fault), None
    )
