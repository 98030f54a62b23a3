"""A tuning study: all placements that it may try, and what else its decisions depend on but its trials. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from itertools import product
from typing import Any

from workshop.store.records import Trial
from workshop.study.trials import Cell, description
from workshop.study.tune.space import CYCLES, YIELDS, Point, chosen_params, fits, key, label, placed, plain
from workshop.study.tune.spots import Spot

THREADS_PER_CORE = 2  # more take turns twice over


@dataclass(frozen=True)
class Length:
    """For how long a trial goes on: a param, its first value, and where metrics tell the seconds that it measured."""

    param: str
    value: int
    seconds: str
    fixed: bool = False  # somebody has said how long


@dataclass(frozen=True)
class TuneStudy:
    """What was asked for, checked: see `workshop.study.tune.plan`."""

    rate: str  # the metric that is compared
    unit: str
    params: Mapping[str, Any]  # of a trial with one rank
    load: Mapping[str, Any]  # those of them that a person would give, too: not what makes trials short
    share: str  # the param that all ranks divide among them
    placement: Mapping[str, Any]  # fields that all placements have
    spots: Sequence[Spot]
    threads: Sequence[int]  # per rank
    knobs: Mapping[str, Sequence[Any]]  # params of the workload
    naive: Point
    begin: Sequence[Point]  # what is tried first: what is known to be good, and the naive start
    length: Length
    cores: int
    memory: int | None = None  # bytes that all ranks may have together
    budget: float | None = None  # seconds of runs; None: until nothing more is gained
    trial_limit: int | None = None  # placements to try; None: as many as the budget allows
    seed: int = 0
    yields: Sequence[str] = YIELDS
    cycles: Sequence[str | None] = CYCLES
    left_out: Mapping[str, int] = field(default_factory=dict)  # reason -> ways to place ranks that weren't tried

    def description(self) -> dict[str, Any]:
        told = description(self)
        told["trials"] = told.pop("trial_limit")
        return told

    def trials(self) -> list[Trial]:
        return []  # all of them are decided while it goes on

    @classmethod
    def read(cls, told: Mapping[str, Any]) -> TuneStudy:
        """A study from its description."""
        spots = [Spot(**spot) for spot in told["spots"]]
        known = {**told, "spots": spots, "length": Length(**told["length"]), "trial_limit": told["trials"]}
        return cls(**{one.name: known[one.name] for one in fields(cls)})

    def points(self) -> list[Point]:
        """All points that may be tried, always in the same order. Each is possible, and no two do the same."""
        return list({key(point): dict(point) for point in (*self.begin, *self._all())}.values())

    def _all(self) -> Iterator[Point]:
        for spot, threads in product(self.spots, self.threads):
            if spot.ranks * threads > max(self.cores * THREADS_PER_CORE, spot.ranks):
                continue
            for values in product(*self.knobs.values()):
                chosen = dict(zip(self.knobs, values, strict=True))
                if not fits(spot, chosen) or (spot.ranks == 1 and spot.mpi != self._first_mpi(chosen)):
                    continue
                for yields, cycle in product(self.yields, self.cycles):
                    yield plain(spot, threads, chosen, yields, cycle)

    def _first_mpi(self, chosen: Mapping[str, Any]) -> str:
        """The MPI that stands for all where a rank is alone and talks to nobody."""
        return next(spot.mpi for spot in self.spots if fits(spot, chosen))

    def axes(self) -> dict[str, list[Any]]:
        """The names in which points differ, each with its values in order of first appearance."""
        found: dict[str, list[Any]] = {}
        for point in self.points():
            for name, value in point.items():
                values = found.setdefault(name, [])
                if value not in values:
                    values.append(value)
        return {name: values for name, values in found.items() if len(values) > 1}

    def cell(self, point: Mapping[str, Any], length: Mapping[str, Any] | None = None) -> Cell:
        """The run at a point; `length` are params that say how long it goes on."""
        where = placed(point, self.placement)
        values = {**self.params, **chosen_params(point), **(length or {})}
        if self.share:
            values[self.share] = self.params[self.share] // where.ranks
        return Cell(label(point), values, where.as_json(), dict(point))
