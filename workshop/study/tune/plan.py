"""Plan a tuning study: what the machine and the workload offer, and the first trials."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any

from pydantic import Field

from workshop.core import config, machines, words
from workshop.core.errors import BadInput
from workshop.core.machines import MachineDescription
from workshop.core.memory import Gauge
from workshop.core.placement import USUAL_MPI, Placement, default_for
from workshop.extension import Params, Tuning, Workload, load
from workshop.mpi import inventory
from workshop.registry import workloads
from workshop.sessions import client
from workshop.store.records import SessionRecord
from workshop.store.store import Store
from workshop.study.kinds import StudyForm, StudyRequest
from workshop.study.scaling.plan import scaling_of
from workshop.study.tune.study import YIELDS, Length, Point, Spot, TuneStudy, numbers_of_ranks, plain, spots

TRIAL = 15.0  # seconds that a trial takes, about: most are for its ranks to start and to import their libraries
TRIALS = 2  # without which nothing can be compared
MOST_SECONDS = 24 * 3600.0
_BUDGET = re.compile(r"(\d+(?:\.\d+)?)\s*([smh]?)")
_UNITS = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0}


@dataclass(frozen=True)
class Offer:
    """The installed MPIs, and the values of knobs that are not available, with the reason."""

    mpis: Sequence[str] = (USUAL_MPI,)
    missing: Mapping[Any, str] = field(default_factory=dict)  # value of a knob -> why it can't be had


def offer_here(workload: Workload) -> Offer:
    """The MPIs that are installed, and what the workload has to do without."""
    mpis = inventory.installed()
    tuning = workload.tuning
    return Offer(mpis, load(tuning.missing)(mpis) if tuning is not None and tuning.missing else {})


@dataclass(frozen=True)
class TuneLimits:
    """Limits of the search; None: no limit."""

    ranks: Sequence[int] | None = None
    threads: Sequence[int] | None = None
    knobs: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    yields: Sequence[str] = YIELDS


def plan(
    workload: Workload,
    given_params: Mapping[str, Any],
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
    """A study with the given params of the workload. Raises BadInput with one sentence.

    `placement` has fields that all placements share (hosts, each like the described machine). `memory` is the number of
    bytes for all ranks together, if known. `takes` raises BadInput for a placement that is not possible here, `works`
    for params that so many ranks can't work with.
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
    set_values = {**scaling.strong, **tuning.load, **tuning.short, **given_params}
    if scaling.share and scaling.share not in given_params:  # the total of all ranks on the default placement
        set_values[scaling.share] = workload.params.model_fields[scaling.share].default * usual.ranks
    params = workload.check(set_values).model_dump(mode="json")
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
    possible_spots, refused = spots(described, numbers, offer.mpis, base, takes)
    left_out |= refused
    if not possible_spots:
        raise BadInput(f"There is nowhere to put ranks: the placements {', '.join(left_out)}.")
    knobs = _knobs(tuning, given_params, params, limits, offer)
    for name, values in tuning.knobs.items():
        absent = [value for value in values if value in offer.missing and name not in given_params]
        left_out |= {f"{name} {value}: {offer.missing[value]}": 1 for value in absent}
    powers = [2**power for power in range(described.cores.bit_length())]
    threads = sorted(set(limits.threads or (*powers, described.cores)))
    begin = _begin(workload.name, possible_spots, knobs, usual, cores, described.cores)
    length = Length(tuning.length, params[tuning.length], tuning.seconds, tuning.length in given_params)
    return TuneStudy(
        workload=workload.name,
        rate=scaling.rate,
        unit=scaling.unit,
        params=params,
        load={name: params[name] for name in {**tuning.load, **given_params} if name not in knobs},
        share=scaling.share,
        placement=base,
        spots=possible_spots,
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
        left_out=left_out,
    )


def plan_here(
    store: Store,
    session: SessionRecord | None,
    workload: Workload,
    given_params: Mapping[str, Any],
    *,
    budget: float,
    trials: int | None = None,
    seed: int = 0,
) -> TuneStudy:
    """A study for a session (None: a private one) on hosts like this machine. Raises BadInput."""
    base = {"hosts": session.placement["hosts"]} if session and session.placement.get("hosts") else {}
    input_files: dict[str, bytes] = {}

    def works(params: object, ranks: int) -> None:
        if not input_files and workload.inputs:  # the same files for all of them
            input_files.update(workload.inputs(params, client.artifacts_of(store)))
        if workload.fits:
            workload.fits(params, input_files, ranks)

    def takes(placement: Placement) -> None:
        client.placement_in(session, placement.as_json())

    return plan(
        workload,
        given_params,
        machines.this(),
        offer=offer_here(workload),
        placement=base,
        # Several hosts have more than this one; how much, only their runs tell.
        memory=None if base else config.memory_limit() or min(place.total for place in Gauge().read()),
        budget=budget,
        trials=trials,
        seed=seed,
        takes=takes,
        works=works,
    )


def tuning_of(workload: Workload) -> Tuning:
    """The workload's description for the tuner. Raises BadInput if it has none."""
    if workload.tuning is None:
        able = ", ".join(tunable.name for tunable in workloads().values() if tunable.tuning is not None)
        raise BadInput(f"The tuner doesn't know what to try with {workload.name}; it knows {able or 'no workload'}.")
    return workload.tuning


def read_budget(text: str) -> float:
    """Seconds from words like 5m, 90s and 1h. Raises BadInput."""
    match = _BUDGET.fullmatch(text.strip().lower())
    if match is None:
        raise BadInput(f"--budget {text[:40]} is no time; it should be like 5m, 90s or 1h.")
    seconds = float(match[1]) * _UNITS[match[2]]
    if not math.isfinite(seconds) or seconds > MOST_SECONDS:
        raise BadInput(f"--budget {text[:40]} is too long; it should be at most {MOST_SECONDS / 3600:g}h.")
    return seconds


def _unfit(
    workload: Workload, share: str, params: Mapping[str, Any], ranks: int, works: Callable[[Any, int], None]
) -> str:
    """The reason why so many ranks can't work with these params; "" if they can."""
    if share and params[share] % ranks:
        return f"don't divide a {share} of {params[share]}"
    shares = {share: params[share] // ranks} if share else {}
    try:
        works(workload.check({**params, **shares}), ranks)
    except BadInput as error:
        return str(error).rstrip(".")
    return ""


def _knobs(
    tuning: Tuning, given_params: Mapping[str, Any], params: Mapping[str, Any], limits: TuneLimits, offer: Offer
) -> dict[str, list[Any]]:
    """The available values of each knob. A knob that somebody has set keeps that value."""
    values_by_knob = {}
    for name, values in tuning.knobs.items():
        if name in given_params:
            values_by_knob[name] = [params[name]]
            continue
        values_by_knob[name] = [value for value in limits.knobs.get(name, values) if value not in offer.missing]
        if not values_by_knob[name]:
            raise BadInput(f"No {name} can be had here of {', '.join(map(str, limits.knobs.get(name, values)))}.")
    return values_by_knob


def _begin(
    workload: str,
    possible_spots: Sequence[Spot],
    knobs: Mapping[str, Sequence[Any]],
    usual: Placement,
    cores: int,
    threads: int,
) -> list[Point]:
    """The machine's default placement, the naive start (`threads` on one core), then the default with the second-best
    knobs; with the first MPI that supports them."""
    for mpi in dict.fromkeys(spot.mpi for spot in possible_spots):
        if begin := _begin_on(
            workload, [spot for spot in possible_spots if spot.mpi == mpi], knobs, usual, cores, threads
        ):
            return begin
    knob_values = words.listed(
        f"{name} {value}" for name, values in knobs.items() for value in values if value is not None
    )
    raise BadInput(f"No installed MPI supports {knob_values}; `workshop mpi list` shows the installed ones.")


def _begin_on(
    workload: str, ours: Sequence[Spot], knobs: Mapping[str, Sequence[Any]], usual: Placement, cores: int, threads: int
) -> list[Point] | None:
    good = min(
        ours,
        key=lambda spot: (
            spot.ranks > cores,
            abs(spot.ranks - usual.ranks),
            spot.cores_per_rank != usual.cores_per_rank,
            spot.bind_to != "core",
        ),
    )
    alone = min(ours, key=lambda spot: (spot.ranks, spot.bind_to != "core", spot.cores_per_rank))
    naive = None
    begin: list[Point] = []
    first = {name: values[0] for name, values in knobs.items()}
    others = [{**first, name: value} for name, values in list(knobs.items())[:1] for value in values[1:]]
    for values in [first, *others]:  # the first value of each knob, then the first knob's others
        point = plain(workload, good, good.cores_per_rank, values, YIELDS[0])
        if point is not None and len(begin) < 2:
            begin.append(point)
        naive = naive or plain(workload, alone, threads, values, YIELDS[0])
    if naive is None or not begin:
        return None
    return [begin[0], naive, *(point for point in begin[1:] if point not in (begin[0], naive))]


class TuneOptions(Params):
    """Settings of a tuning study."""

    budget: str = Field("5m", description="how long its runs may take together: 90s, 5m, 1h")
    trials: Annotated[int, Field(ge=TRIALS, le=10_000)] | None = Field(None, description="at most so many placements")
    seed: int = Field(0, ge=0, le=2**31 - 1, description="the same seed makes the same choices")


def _plan(form: StudyRequest) -> TuneStudy:
    settings = {**form.options.model_dump(), "budget": read_budget(form.options.budget)}
    return plan_here(form.store, form.session, form.workload, form.params, **settings)


FORM = StudyForm(
    "Tuner: the fastest placement of a workload",
    TuneOptions,
    _plan,
    takes=lambda workload: workload.tuning is not None,
    start=lambda chosen, _: {**scaling_of(chosen).strong, **tuning_of(chosen).load, **tuning_of(chosen).short},
    hidden=lambda workload: tuning_of(workload).knobs,
    order=450,
)
