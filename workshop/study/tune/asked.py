"""What a tuning study was asked for, as the store keeps it: all that its decisions depend on but its trials."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from workshop.study.tune.space import CYCLES, YIELDS, Point, Space
from workshop.study.tune.spots import Spot


@dataclass(frozen=True)
class Length:
    """For how long a trial goes on: a param, its first value, and where metrics tell the seconds that it measured."""

    param: str
    value: int
    seconds: str
    fixed: bool = False  # somebody has said how long


@dataclass(frozen=True)
class Asked:
    """A tuning study before its first trial."""

    rate: str  # the metric that is compared
    unit: str
    params: Mapping[str, Any]  # of a trial with one rank
    load: Mapping[str, Any]  # those of them that a person would give, too: not what makes trials short
    share: str  # the param that all ranks divide among them
    placement: Mapping[str, Any]  # fields that all placements have
    spots: Sequence[Spot]
    threads: Sequence[int]
    knobs: Mapping[str, Sequence[Any]]
    naive: Point
    begin: Sequence[Point]  # what is tried first: what is known to be good, and the naive start
    length: Length
    cores: int
    memory: int | None = None  # bytes that all ranks may have together
    budget: float | None = None  # seconds of runs; None: until nothing more is gained
    trials: int | None = None  # placements to try; None: as many as the budget allows
    seed: int = 0
    yields: Sequence[str] = YIELDS
    cycles: Sequence[str | None] = CYCLES
    left_out: Mapping[str, int] = field(default_factory=dict)  # reason -> ways to place ranks that weren't tried

    @property
    def space(self) -> Space:
        return Space(
            self.spots,
            self.threads,
            self.knobs,
            self.cores,
            self.yields,
            self.cycles,
            self.share,
            self.params,
            self.placement,
            self.begin,
        )

    def as_json(self) -> dict[str, Any]:
        """The study's description; equal ones are the same study."""
        told = dict(vars(self))
        told["spots"] = [dict(vars(spot)) for spot in self.spots]
        told["length"] = dict(vars(self.length))
        told["knobs"] = {name: list(values) for name, values in self.knobs.items()}
        for name in ("threads", "begin", "yields", "cycles"):
            told[name] = list(told[name])
        for name in ("params", "load", "placement", "left_out", "naive"):
            told[name] = dict(told[name])
        return told

    @classmethod
    def read(cls, description: Mapping[str, Any]) -> Asked:
        """What `as_json` has written."""
        spots = [Spot(**spot) for spot in description["spots"]]
        return cls(**{**description, "spots": spots, "length": Length(**description["length"])})
