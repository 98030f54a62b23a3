"""Plan a tuning study: what the machine and the workload offer, and the first trials."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any

from pydantic import Field

from workshop import mpi
from workshop.core import config, machines, words
from workshop.core.errors import BadInput
from workshop.core.machines import MachineDescription
from workshop.core.memory import Gauge
from workshop.core.placement import USUAL_MPI, Placement, default_for
from workshop.extension import Params, Tuning, Workload, load
from workshop.registry import workloads
from workshop.sessions import client
from workshop.store.records import SessionRecord
from workshop.store.store import Store
from workshop.study.grid.plan import scaling_of
from workshop.study.kinds import StudyForm, StudyRequest
from workshop.study.tune.search import COMPARED, TRIAL
from workshop.study.tune.study import YIELD, YIELDS, Point, Spot, TuneStudy, numbers_of_ranks, plain, spots

MOST_SECONDS = 24 * 3600.0
_BUDGET = re.compile(r"(\d+(?:\.\d+)?)\s*([smh]?)")
_UNITS = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0}


def plan(
    workload: Workload,
    given_params: Mapping[str, Any],
    described: MachineDescription,
    *,
    budget: float,
    mpis: Sequence[str] = (USUAL_MPI,),
    missing: Mapping[Any, str] | None = None,
    placement: Mapping[str, Any] | None = None,
    memory: int | None = None,
    trials: int | None = None,
    seed: int = 0,
    takes: Callable[[Placement], None] = lambda placement: None,
    works: Callable[[Any, int], None] = lambda params, ranks: None,
) -> TuneStudy:
    """A study with the given params of the workload. Raises BadInput with one sentence.

    `missing` are the values of knobs that can't be had, with the reason. `placement` has fields that all placements
    share (hosts, each like the described machine). `memory` is the number of bytes for all ranks together, if known.
    `takes` raises BadInput for a placement that is not possible here, `works` for params that so many ranks can't work
    with.
    """
    tuning, scaling = tuning_of(workload), scaling_of(workload)
    base, absent = dict(placement or {}), dict(missing or {})
    if budget < COMPARED * TRIAL:
        raise BadInput(
            f"A budget of {budget:g} s is too small for {COMPARED} trials, without which there is nothing to compare; "
            f"give {COMPARED * TRIAL:g}s or more, such as --budget 5m."
        )
    cores = described.cores * max(len(base.get("hosts") or ()), 1)
    usual = default_for(cores)
    set_values = {**scaling.strong, **tuning.load, **tuning.short, **given_params}
    if scaling.share and scaling.share not in given_params:  # the total of all ranks on the default placement
        set_values[scaling.share] = workload.params.model_fields[scaling.share].default * usual.ranks
    params = workload.check(set_values).model_dump(mode="json")
    slots = sum(host["slots"] for host in base.get("hosts") or ()) or None
    counts = numbers_of_ranks(cores, slots)
    unfit = {count: why for count in counts if (why := _unfit(workload, scaling.share, params, count, works))}
    if len(unfit) == len(counts):
        raise BadInput(f"No number of ranks can work on this: {'; '.join(dict.fromkeys(unfit.values()))}.")
    possible_spots, refused = spots(described, [count for count in counts if count not in unfit], mpis, base, takes)
    if not possible_spots:
        raise BadInput(f"There is nowhere to put ranks: the placements {', '.join(sorted(refused))}.")
    knobs = _knobs(tuning, given_params, params, absent)
    powers = [2**power for power in range(described.cores.bit_length())]
    return TuneStudy(
        workload=workload.name,
        rate=scaling.rate,
        unit=scaling.unit,
        params=params,
        load={name: params[name] for name in {**tuning.load, **given_params} if name not in knobs},
        share=scaling.share,
        placement=base,
        spots=possible_spots,
        threads=sorted({*powers, described.cores}),
        knobs=knobs,
        begin=_begin(workload.name, possible_spots, knobs, usual, cores, described.cores),
        cores=cores,
        budget=budget,
        memory=memory,
        fixed=tuning.length in given_params,
        most_trials=trials,
        seed=seed,
    )


def missing_here(workload: Workload, mpis: Sequence[str]) -> dict[Any, str]:
    """The values of the workload's knobs that can't be had on this machine, with the reason."""
    tuning = tuning_of(workload)
    return dict(load(tuning.missing)(mpis)) if tuning.missing else {}


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

    mpis = mpi.installed()
    return plan(
        workload,
        given_params,
        machines.this(),
        mpis=mpis,
        missing=missing_here(workload, mpis),
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
    tuning: Tuning, given_params: Mapping[str, Any], params: Mapping[str, Any], absent: Mapping[Any, str]
) -> dict[str, list[Any]]:
    """The available values of each knob. A knob that somebody has set keeps that value."""
    values_by_knob = {}
    for name, values in tuning.knobs.items():
        values_by_knob[name] = [value for value in values if value not in absent]
        if name in given_params:
            values_by_knob[name] = [params[name]]
        elif not values_by_knob[name]:
            raise BadInput(f"No {name} can be had here of {', '.join(map(str, values))}.")
    return {**values_by_knob, YIELD: list(YIELDS)}


def _begin(
    workload: str,
    possible_spots: Sequence[Spot],
    knobs: Mapping[str, Sequence[Any]],
    usual: Placement,
    cores: int,
    threads: int,
) -> list[Point]:
    """The machine's default placement, the naive start (`threads` on one core), then the default with each other
    value of the first knob; with the first MPI that supports them."""
    first, lead = {name: values[0] for name, values in knobs.items()}, next(iter(knobs))
    ways = [{**first, lead: value} for value in knobs[lead]]
    for name in dict.fromkeys(spot.mpi for spot in possible_spots):
        ours = [spot for spot in possible_spots if spot.mpi == name]
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
        defaults = [point for way in ways if (point := plain(workload, good, good.cores_per_rank, way)) is not None]
        naive = [point for way in ways if (point := plain(workload, alone, threads, way)) is not None]
        if defaults and naive:
            begin = [defaults[0], naive[0]]
            return [*begin, *(point for point in defaults[1:] if point not in begin)]
    knob_values = words.listed(f"{name} {value}" for name, values in knobs.items() for value in values if name != YIELD)
    raise BadInput(f"No installed MPI supports {knob_values}; `workshop mpi list` shows the installed ones.")


class TuneOptions(Params):
    """Settings of a tuning study."""

    budget: str = Field("5m", description="how long its runs may take together: 90s, 5m, 1h")
    trials: Annotated[int, Field(ge=COMPARED, le=10_000)] | None = Field(None, description="at most so many placements")
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
