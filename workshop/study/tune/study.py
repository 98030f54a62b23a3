"""A tuning study: all placements that it may try, and all other inputs of its decisions except its trials.

A point has the names of a grid's axes: fields of a placement, `env.NAME` for a variable of the ranks, and params of the
workload. It contains only settings that have an effect: a single rank has no one to wait for and needs nothing of an
MPI, and a workload says which of its knobs have an effect (`Tuning.usable`). So different points never do the same.

The MPIs' mappers are asked once for the possible places of ranks, before a study begins. Their answers are stored with
the study, so a resumed study makes the same decisions.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, fields
from itertools import product
from typing import Any

from workshop import mpi, registry
from workshop.core import words
from workshop.core.errors import BadInput, WorkshopError
from workshop.core.machines import MachineDescription
from workshop.core.placement import POLLING, USUAL_MPI, Placement
from workshop.core.words import ranges
from workshop.extension import load
from workshop.mpi import mapper
from workshop.mpi.implementations import implementation
from workshop.store.records import StudyRecord, Trial
from workshop.study.grid.axes import params_at
from workshop.study.trials import Cell, description

AT_ONCE = 4  # mappers that are asked at the same time; each takes about a tenth of a second
MOST_RANKS_PER_CORE = 2  # more share hardware threads, and that has never been faster


@dataclass(frozen=True)
class Spot:
    """One way to place so many ranks; the fields are those of a placement. Equal `where` are the same places."""

    mpi: str
    ranks: int
    map_by: str
    bind_to: str
    cores_per_rank: int
    where: str  # the units that each rank may use, as the MPI's mapper says

    @property
    def fields(self) -> dict[str, Any]:
        """The fields of a placement that the spot sets."""
        return {name: value for name, value in asdict(self).items() if name != "where"}


def numbers_of_ranks(cores: int, slots: int | None = None) -> list[int]:
    """1, 2, 4, … and the number of cores, up to twice the cores, or up to the slots."""
    most = cores * MOST_RANKS_PER_CORE if slots is None else slots
    powers = {2**power for power in range(most.bit_length()) if 2**power <= most}
    return sorted(number for number in powers | {cores, most} if 1 <= number <= most)


def spots(
    described: MachineDescription,
    ranks: Sequence[int],
    mpis: Sequence[str],
    base: Mapping[str, Any],
    takes: Callable[[Placement], None] = lambda placement: None,
) -> tuple[list[Spot], set[str]]:
    """Every way to place these numbers of ranks on the machine, and why others are refused.

    `base` has the fields that all placements share. `takes` raises BadInput for a placement that is not possible for a
    reason other than its MPI.
    """
    hosts = max(len(base.get("hosts") or ()), 1)
    placements = [Placement.parse({**base, **fields}) for fields in _layouts(described, ranks, mpis, hosts)]
    refused: set[str] = set()
    spots_by_place: dict[tuple[str, int, str], Spot] = {}
    with ThreadPoolExecutor(AT_ONCE) as pool:
        mapped = pool.map(lambda placement: _where(placement, described, takes), placements)
        for placement, (where, why) in zip(placements, mapped, strict=True):
            place = (placement.mpi, placement.ranks, where or "")
            if where is None or place in spots_by_place:
                refused |= {why} - {""}
                continue
            spots_by_place[place] = Spot(**{name: getattr(placement, name) for name in FIELDS[:-1]}, where=where)
    return list(spots_by_place.values()), refused


def _layouts(
    described: MachineDescription, ranks: Sequence[int], mpis: Sequence[str], hosts: int
) -> Iterator[dict[str, Any]]:
    """The layouts to ask for. The plainest come first, because the first of two equal ones is kept. Each host is like
    the machine."""
    cores = described.cores
    for name in mpis:
        for count in ranks:
            cores_per_rank = max(cores // math.ceil(count / hosts), 1)  # a fair share
            yield _layout(name, count, "auto", "core")
            yield _layout(name, count, "auto", "none")
            if count > 1 and cores_per_rank > 1:
                yield _layout(name, count, "auto", "core", cores_per_rank)
            if count > 1 and hosts > 1:
                yield _layout(name, count, "node", "core")
            if count > 1 and described.count("package") > 1:
                yield _layout(name, count, "package", "core")
            for resource, key in (("package", "package"), ("numa", "numa"), ("l3cache", "l3")):
                if described.count(key) > 1:
                    yield _layout(name, count, "auto", resource)
            if described.count("unit") > described.count("core"):
                yield _layout(name, count, "hwthread", "hwthread")


def _layout(name: str, ranks: int, map_by: str, bind_to: str, cores_per_rank: int = 1) -> dict[str, Any]:
    return {"mpi": name, "ranks": ranks, "map_by": map_by, "bind_to": bind_to, "cores_per_rank": cores_per_rank}


def _where(
    placement: Placement, described: MachineDescription, takes: Callable[[Placement], None]
) -> tuple[str | None, str]:
    """The places of the ranks as a text that is equal for equal places; None and the reason if they are refused."""
    try:
        takes(placement)
        if not implementation(placement.mpi).mapper:  # without a mapper, the launcher's arguments identify the places
            return " ".join(mpi.module_of(placement.mpi).arguments(placement, described.cores, described.machine)), ""
        prediction = mapper.predict(placement, described)
    except BadInput:
        return None, "are refused"
    except WorkshopError:  # a mapper that doesn't answer in time
        return None, "could not be asked about"
    if prediction.rank_map is None:
        return None, "are refused by their MPI"
    return masks(prediction.rank_map["ranks"]), ""


def masks(reports: Iterable[Mapping[str, Any]]) -> str:
    """The units of each rank, in the ranks' order, as a short text: `0-3|4-7`; once if all ranks have the same."""
    each = [f"{report.get('host', '')}:{ranges(report['units'])}" for report in reports]
    return f"{len(each)}*{each[0]}" if len(set(each)) == 1 else "|".join(each)


YIELDS = ("1", "0")  # Open MPI's ranks yield their core while they wait, or poll
YIELD = f"env.{POLLING}"
Point = dict[str, Any]
FIELDS = ("mpi", "ranks", "map_by", "bind_to", "cores_per_rank", "threads")


def plain(workload: str, spot: Spot, threads: int, knobs: Mapping[str, Any]) -> Point | None:
    """A point whose settings without effect have their defaults, so that equal placements are equal points; None if the
    workload's knobs don't work with the MPI."""
    tuning = registry.workload(workload).tuning
    values = load(tuning.usable)(knobs, spot.mpi, spot.ranks) if tuning is not None and tuning.usable else knobs
    if values is None:
        return None
    yields = {} if implementation(spot.mpi).waiting == "variable" and spot.ranks > 1 else {YIELD: YIELDS[0]}
    return {**spot.fields, "threads": threads, **values, **yields}


def settings(point: Mapping[str, Any]) -> dict[str, Any]:
    """A point as parameters of an Optuna study: its spot is one of them, because few combinations can be had."""
    place = " ".join(str(point[name]) for name in FIELDS[:-1])
    return {"place": place, **{name: value for name, value in point.items() if name not in FIELDS[:-1]}}


def placed(point: Mapping[str, Any], base: Mapping[str, Any]) -> Placement:
    """The placement at a point."""
    variables = {
        name.removeprefix("env."): value
        for name, value in point.items()
        if name.startswith("env.") and value is not None and (name, value) != (YIELD, YIELDS[0])  # defaults
    }
    environment = {**base.get("environment", {}), **variables}
    return Placement.parse({**base, **{name: point[name] for name in FIELDS}, "environment": environment})


def key(point: Mapping[str, Any]) -> str:
    """A point as a key: equal keys are the same point."""
    return json.dumps(dict(point), sort_keys=True)


def label(point: Mapping[str, Any]) -> str:
    """A point in a few words: its ranks, and its unusual settings."""
    parts = [f"{words.count(point['ranks'], 'rank')} × {words.count(point['threads'], 'thread')}"]
    cores = point["cores_per_rank"]
    if point["bind_to"] == "none":
        parts.append("unbound")
    elif cores > 1:
        parts.append(f"{cores} cores each")
    else:
        by = f" by {point['map_by']}" if point["map_by"] not in ("auto", point["bind_to"]) else ""
        parts.append(f"bound to {point['bind_to']}{by}")
    parts += [str(value) for value in params_at(point).values()]
    if point["mpi"] != USUAL_MPI:
        parts.append(point["mpi"])
    if point.get(YIELD) == "0":
        parts.append("polling")
    variables = {name: value for name, value in point.items() if name.startswith("env.") and name != YIELD}
    parts += [f"{name.removeprefix('env.')}={value}" for name, value in variables.items() if value is not None]
    return ", ".join(parts)


NAME = "tune"
THREADS_PER_CORE = 2  # more share hardware threads, and that has never been faster


@dataclass(frozen=True)
class TuneStudy:
    """A checked plan of a tuning study, see `workshop.study.tune.plan`."""

    workload: str
    rate: str  # the metric that is compared
    unit: str
    params: Mapping[str, Any]  # of a trial with one rank
    load: Mapping[str, Any]  # the params of a full-length run that the command should contain
    share: str  # the param that all ranks divide among them
    placement: Mapping[str, Any]  # fields that all placements have
    spots: Sequence[Spot]
    threads: Sequence[int]  # per rank
    knobs: Mapping[str, Sequence[Any]]  # params of the workload, and env.NAME for variables of the ranks
    begin: Sequence[Point]  # the first points: the default placement, the naive start, others to begin with
    cores: int
    budget: float  # seconds of runs
    memory: int | None = None  # bytes that all ranks may have together
    fixed: bool = False  # whether the user has set the length of a trial
    most_trials: int | None = None  # placements to try; None: as many as the budget allows
    seed: int = 0

    @property
    def kind(self) -> str:
        return NAME

    @property
    def naive(self) -> Point:
        return self.begin[1]

    def description(self) -> dict[str, Any]:
        return description(self, "workload")

    def trials(self) -> list[Trial]:
        return []  # trials are chosen while the study goes on

    @classmethod
    def read(cls, study: StudyRecord) -> TuneStudy:
        """A study from its stored form."""
        stored = {**study.description, "workload": study.workload}
        stored["spots"] = [Spot(**spot) for spot in stored["spots"]]
        return cls(**{field.name: stored[field.name] for field in fields(cls) if field.name in stored})

    def points(self) -> list[Point]:
        """All points that may be tried, always in the same order. All are possible and different. A rank that is alone
        talks to nobody, so one MPI stands for all."""
        names = ("place", "threads", *self.knobs)
        values = (self._spots, self.threads, *self.knobs.values())
        every = [self.point(dict(zip(names, each, strict=True))) for each in product(*values)]
        points: dict[str, Point] = {}
        for point in (*self.begin, *filter(None, every)):
            points.setdefault(key({**point, "mpi": ""} if point["ranks"] == 1 else point), dict(point))
        return list(points.values())

    def choices(self) -> dict[str, list[Any]]:
        """The values of each parameter of the Optuna study, in order of appearance."""
        each = [settings(point) for point in self.points()]
        return {name: list(dict.fromkeys(values[name] for values in each)) for name in each[0]}

    def point(self, params: Mapping[str, Any]) -> Point | None:
        """The point with these parameters of the Optuna study; None if it isn't possible, or if some are missing."""
        spot, threads = self._spots.get(params.get("place", "")), params.get("threads", math.inf)
        if spot is None or not self.knobs.keys() <= params.keys():
            return None
        if spot.ranks * threads > max(self.cores * THREADS_PER_CORE, spot.ranks):
            return None
        return plain(self.workload, spot, threads, {name: params[name] for name in self.knobs})

    @property
    def _spots(self) -> dict[str, Spot]:
        return {settings(spot.fields)["place"]: spot for spot in self.spots}

    def cell(self, point: Mapping[str, Any], length: Mapping[str, Any]) -> Cell:
        """The run at a point; `length` are params that say how long it goes on."""
        where = placed(point, self.placement)
        values = {**self.params, **params_at(point), **length}
        if self.share:
            values[self.share] = self.params[self.share] // where.ranks
        return Cell(label(point), values, where.as_json(), dict(point))
