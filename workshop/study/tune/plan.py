"""A tuning study before it is kept: what the machine and the workload have to offer, and where to begin."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from workshop.core import words
from workshop.core.errors import BadInput
from workshop.core.machines import MachineDescription
from workshop.core.placement import USUAL_MPI, Placement, default_for
from workshop.extension import Tuning, Workload, load
from workshop.mpi import horovod, inventory
from workshop.registry import workloads
from workshop.study.scaling.plan import scaling_of
from workshop.study.tune.space import CYCLES, YIELDS, Point, fits, plain
from workshop.study.tune.spots import Spot, numbers_of_ranks, spots
from workshop.study.tune.study import Length, TuneStudy

TRIAL = 15.0  # seconds that a trial takes, about: most are for its ranks to start and to import their libraries
TRIALS = 2  # without which nothing can be compared
MOST_SECONDS = 24 * 3600.0
_BUDGET = re.compile(r"(\d+(?:\.\d+)?)\s*([smh]?)")
_UNITS = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0}


@dataclass(frozen=True)
class Offer:
    """What can be had here: MPIs, and which values of knobs can't, with the reason."""

    mpis: Sequence[str] = (USUAL_MPI,)
    missing: Mapping[Any, str] = field(default_factory=dict)  # value of a knob -> why it can't be had


def offer_here(workload: Workload) -> Offer:
    """The MPIs that are installed, and what the workload has to do without."""
    mpis = inventory.installed()
    missing: dict[Any, str] = {}
    if horovod.working() is None:
        why = horovod.build().why_not or "it can't be loaded"
        missing["horovod"] = f"{why}; `workshop horovod install` builds it"
    if workload.tuning is not None and workload.tuning.missing:
        missing |= load(workload.tuning.missing)(mpis)
    return Offer(mpis, missing)


@dataclass(frozen=True)
class TuneLimits:
    """What is tried of what could be; None: all."""

    ranks: Sequence[int] | None = None
    threads: Sequence[int] | None = None
    knobs: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    yields: Sequence[str] = YIELDS
    cycles: Sequence[str | None] = CYCLES


def plan(
    workload: Workload,
    given: Mapping[str, Any],
    described: MachineDescription,
    *,
    offer: Offer | None = None,
    placement: Mapping[str, Any] | None = None,
    memory: int | None = None,
    budget: float | None = None,
    trials: int | None = None,
    seed: int = 0,
    limits: TuneLimits | None = None,
    takes: Callable[[Placement], None] = lambda placement: None,
    works: Callable[[Any, int], None] = lambda params, ranks: None,
) -> TuneStudy:
    """A study from the workload's params that were `given`. Raises BadInput with one sentence.

    `placement` are fields that all placements have (hosts, each like the machine described), `memory` the bytes that
    all ranks may have together, where that is known; `takes` raises BadInput for a placement that can't be had here,
    `works` for params that so many ranks can't work with.
    """
    tuning, scaling = tuning_of(workload), scaling_of(workload)
    offer, limits, base = offer or Offer(), limits or TuneLimits(), dict(placement or {})
    if budget is not None and budget < TRIALS * TRIAL:
        raise BadInput(
            f"A budget of {budget:g} s is too small for {TRIALS} trials, without which there is nothing to compare; "
            f"give {TRIALS * TRIAL:g}s or more, such as --budget 5m."
        )
    cores = described.cores * max(len(base.get("hosts") or ()), 1)
    usual = default_for(cores)
    wanted = {**scaling.strong, **tuning.load, **tuning.short, **given}
    if scaling.share and scaling.share not in given:  # as much as all ranks have together where nobody tunes anything
        wanted[scaling.share] = workload.params.model_fields[scaling.share].default * usual.ranks
    params = workload.check(wanted).model_dump(mode="json")
    left_out: dict[str, int] = {}
    slots = sum(host["slots"] for host in base.get("hosts") or ()) or None
    numbers = []
    for count in limits.ranks or numbers_of_ranks(cores, slots):
        if why := _unfit(workload, scaling.share, params, count, works):
            left_out[why] = left_out.get(why, 0) + 1
        else:
            numbers.append(count)
    if not numbers:
        raise BadInput(f"No number of ranks can work on this: {'; '.join(left_out)}.")
    found, refused = spots(described, numbers, offer.mpis, base, takes)
    left_out |= refused
    if not found:
        raise BadInput(f"There is nowhere to put ranks: the placements {', '.join(left_out)}.")
    knobs = _knobs(tuning, given, params, limits, offer)
    for name, values in tuning.knobs.items():
        absent = [value for value in values if value in offer.missing and name not in given]
        left_out |= {f"{name} {value}: {offer.missing[value]}": 1 for value in absent}
    threads = sorted(set(limits.threads or _threads(described.cores)))
    begin = _begin(found, knobs, usual, cores, described.cores)
    length = Length(tuning.length, params[tuning.length], tuning.seconds, tuning.length in given)
    return TuneStudy(
        rate=scaling.rate,
        unit=scaling.unit,
        params=params,
        load={name: params[name] for name in {**tuning.load, **given} if name not in knobs},
        share=scaling.share,
        placement=base,
        spots=found,
        threads=threads,
        knobs=knobs,
        naive=begin[1],
        begin=begin,
        length=length,
        cores=cores,
        memory=memory,
        budget=budget,
        trial_limit=trials,
        seed=seed,
        yields=limits.yields,
        cycles=limits.cycles,
        left_out=left_out,
    )


def tuning_of(workload: Workload) -> Tuning:
    """What the tuner has to know of a workload. Raises BadInput where it doesn't say."""
    if workload.tuning is None:
        able = ", ".join(known.name for known in workloads().values() if known.tuning is not None)
        raise BadInput(f"The tuner doesn't know what to try with {workload.name}; it knows {able or 'no workload'}.")
    return workload.tuning


def read_budget(text: str) -> float:
    """Seconds from words like 5m, 90s and 1h. Raises BadInput."""
    found = _BUDGET.fullmatch(text.strip().lower())
    if found is None:
        raise BadInput(f"--budget {text[:40]} is no time; it should be like 5m, 90s or 1h.")
    seconds = float(found[1]) * _UNITS[found[2]]
    if not math.isfinite(seconds) or seconds > MOST_SECONDS:
        raise BadInput(f"--budget {text[:40]} is too long; it should be at most {MOST_SECONDS / 3600:g}h.")
    return seconds


def _unfit(
    workload: Workload, share: str, params: Mapping[str, Any], ranks: int, works: Callable[[Any, int], None]
) -> str:
    """Why so many ranks can't work on it; "" where they can."""
    if share and params[share] % ranks:
        return f"don't divide a {share} of {params[share]}"
    own = {share: params[share] // ranks} if share else {}
    try:
        works(workload.check({**params, **own}), ranks)
    except BadInput as error:
        return str(error).rstrip(".")
    return ""


def _threads(cores: int) -> list[int]:
    return [2**power for power in range(cores.bit_length()) if 2**power < cores] + [cores]


def _knobs(
    tuning: Tuning, given: Mapping[str, Any], params: Mapping[str, Any], limits: TuneLimits, offer: Offer
) -> dict[str, list[Any]]:
    """The values of each knob that can be had; one that somebody has set stays as it is."""
    found = {}
    for name, values in tuning.knobs.items():
        if name in given:
            found[name] = [params[name]]
            continue
        found[name] = [value for value in limits.knobs.get(name, values) if value not in offer.missing]
        if not found[name]:
            raise BadInput(f"No {name} can be had here of {', '.join(map(str, limits.knobs.get(name, values)))}.")
    return found


def _begin(
    found: Sequence[Spot], knobs: Mapping[str, Sequence[Any]], usual: Placement, cores: int, threads: int
) -> list[Point]:
    """The machine's default placement, then the naive start (`threads` on one core), then the default with the
    second-best known knobs; on the first MPI that they go with."""
    for mpi in dict.fromkeys(spot.mpi for spot in found):
        if begin := _begin_on([spot for spot in found if spot.mpi == mpi], knobs, usual, cores, threads):
            return begin
    said = words.listed(f"{name} {value}" for name, values in knobs.items() for value in values)
    raise BadInput(f"No MPI that is here goes with {said}; `workshop mpi list` shows those there are.")


def _begin_on(
    ours: Sequence[Spot], knobs: Mapping[str, Sequence[Any]], usual: Placement, cores: int, threads: int
) -> list[Point] | None:
    good = min(ours, key=lambda spot: (spot.ranks > cores, abs(spot.ranks - usual.ranks), _unlike(spot, usual)))
    alone = min(ours, key=lambda spot: (spot.ranks, spot.bind_to != "core", spot.cores_per_rank))
    naive = None
    begin: list[Point] = []
    for values in _first_of(knobs):
        if fits(good, values) and len(begin) < 2:
            begin.append(plain(good, good.cores_per_rank, values, YIELDS[0], None))
        if fits(alone, values) and naive is None:
            naive = plain(alone, threads, values, YIELDS[0], None)
    if naive is None or not begin:
        return None
    return [begin[0], naive, *(point for point in begin[1:] if point not in (begin[0], naive))]


def _unlike(spot: Spot, usual: Placement) -> tuple[bool, bool]:
    return spot.cores_per_rank != usual.cores_per_rank, spot.bind_to != "core"


def _first_of(knobs: Mapping[str, Sequence[Any]]) -> list[dict[str, Any]]:
    """The first value of each knob, then the first knob's others."""
    first = {name: values[0] for name, values in knobs.items()}
    others = [{**first, name: value} for name, values in list(knobs.items())[:1] for value in values[1:]]
    return [first, *others]
