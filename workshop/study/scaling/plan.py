"""Scaling studies: the same workload on several numbers of ranks. Which trials, and why not; pure except for
`plan_here`.

Strong scaling keeps the work and divides it (Amdahl, Validity of the single processor approach to achieving large
scale computing capabilities, AFIPS 1967). For training that means the same batch over all ranks, so that every
number of ranks takes the same steps: what is given as the batch is the batch of all ranks together, each rank's is
that divided by the ranks. A batch that doesn't divide is refused, since a rounded one would be other work. Weak
scaling gives each rank the same work, so that the whole grows with the ranks (Gustafson, Reevaluating Amdahl's law,
Communications of the ACM 31(5), 1988): the same batch per rank, and as much to read for each rank. What that means
for a workload, its descriptor says (`workshop.extension.Scaling`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import Field

from workshop.core import topology
from workshop.core.errors import BadInput
from workshop.core.placement import Placement
from workshop.extension import Params, Scaling, Workload
from workshop.registry import workloads
from workshop.sessions import client
from workshop.store.records import SessionRecord
from workshop.store.store import Store
from workshop.study.kinds import StudyForm, StudyRequest
from workshop.study.trials import Cell, Plan

KIND = "scaling"
MOST = 32  # numbers of ranks in one study
REPEATS = 100


def plan(
    workload: Workload,
    given_params: Mapping[str, Any],
    ranks: Sequence[int],
    placement: Placement,
    weak: bool = False,
    repeats: int = 3,
) -> Plan:
    """A study with the given params of the workload. Raises BadInput with one sentence."""
    scaling = scaling_of(workload)
    if not 1 <= repeats <= REPEATS:
        raise BadInput(f"repeats is {repeats}: it should be 1 to {REPEATS}.")
    wheres = places(ranks, placement)
    values = dict(given_params) if weak else {**scaling.strong, **given_params}
    base = workload.check(values).model_dump(mode="json")
    if weak:
        _check_grows(workload, scaling, base)
    elif scaling.share:
        _check_divides(scaling.share, base[scaling.share], ranks)
    cells = []
    for where in wheres:
        values = {**base, **_params_for(scaling, base, where.ranks, weak)}
        cells.append(Cell(where.describe(), workload.check(values).model_dump(mode="json"), where.as_json()))
    fixed = {name: value for name, value in placement.as_json().items() if name != "ranks"}
    settings = {"ranks": tuple(ranks), "weak": weak, "repeats": repeats, "rate": scaling.rate, "unit": scaling.unit}
    return Plan(KIND, workload.name, {**settings, "params": base, "placement": fixed}, tuple(cells), repeats)


def plan_here(
    store: Store,
    session: SessionRecord | None,
    workload: Workload,
    given_params: Mapping[str, Any],
    ranks: Sequence[int],
    placement: Placement,
    weak: bool,
    repeats: int,
) -> Plan:
    """A study for a session (None: a private one). Raises BadInput, also for placements that the session refuses and
    files that can't be read."""
    for place in places(ranks, placement):
        client.placement_in(session, place.as_json())
    planned = plan(workload, given_params, ranks, placement, weak, repeats)
    for cell in planned.cells:
        client.inputs_of(store, workload, workload.check(cell.params), Placement.parse(cell.placement))
    return planned


def places(ranks: Sequence[int], placement: Placement) -> list[Placement]:
    """The placement with each number of ranks. Raises BadInput."""
    _check_ranks(ranks)
    return [Placement.parse({**placement.as_json(), "ranks": number}) for number in ranks]


def scaling_of(workload: Workload) -> Scaling:
    """The workload's description for scaling studies. Raises BadInput if it has none."""
    if workload.scaling is None:
        able = ", ".join(comparable.name for comparable in workloads().values() if comparable.scaling is not None)
        raise BadInput(
            f"The workload {workload.name} doesn't tell how fast it is, so it can't be compared; "
            f"{able or 'no workload'} can."
        )
    return workload.scaling


def read_ranks(text: str) -> tuple[int, ...]:
    """Numbers of ranks from words like "1,2,4", ascending. Raises BadInput."""
    words = [word.strip() for word in text.split(",")]
    wrong = next((word for word in words if not (word.isascii() and word.isdecimal()) or len(word) > 6), None)
    if wrong is not None:
        raise BadInput(
            f"--ranks {text}: {wrong!r} is no number of ranks; give numbers with commas between them, such as 1,2,4."
        )
    return tuple(sorted(int(word) for word in words))


def default_ranks(cores: int) -> tuple[int, ...]:
    """1, 2, 4, … as far as the machine has cores, and always two numbers."""
    return tuple(2**power for power in range(max(int(math.log2(max(cores, 1))), 1) + 1))


def _params_for(scaling: Scaling, base: Mapping[str, Any], ranks: int, weak: bool) -> dict[str, Any]:
    """The params in which a number of ranks differs from one rank."""
    if weak:
        return {scaling.total: base[scaling.total] * ranks} if scaling.total else {}
    return {scaling.share: base[scaling.share] // ranks} if scaling.share else {}


def _check_ranks(ranks: Sequence[int]) -> None:
    twice = next((number for number in ranks if list(ranks).count(number) > 1), None)
    if twice is not None:
        raise BadInput(f"ranks names {twice} twice; --repeats says how often each is run.")
    if not 2 <= len(ranks) <= MOST:
        raise BadInput(
            f"ranks names {len(ranks)} number{'' if len(ranks) == 1 else 's'}: scaling compares 2 to {MOST} of them, "
            "such as 1,2,4."
        )


def _check_divides(name: str, value: int, ranks: Sequence[int]) -> None:
    """Strong scaling divides the work of a step without a rest."""
    odd = next((number for number in ranks if value % number), None)
    if odd is None:
        return
    step = math.lcm(*ranks)
    near = max(round(value / step), 1) * step
    raise BadInput(
        f"{name} is {value}, which {odd} ranks can't divide among them; strong scaling shares the same work out, so "
        f"give one that does, such as --set {name}={near}, or compare with --weak."
    )


def _check_grows(workload: Workload, scaling: Scaling, base: Mapping[str, Any]) -> None:
    """Weak scaling makes the work larger through a param that the other params may leave without effect."""
    if not scaling.total:
        return
    extra = workload.params.model_fields[scaling.total].json_schema_extra
    when = extra.get("when", {}) if isinstance(extra, dict) else {}
    for name, value in when.items() if isinstance(when, dict) else ():
        if base.get(name) != value:
            raise BadInput(
                f"Weak scaling of {workload.name} needs more {scaling.total} for more ranks, which {name} "
                f"{base.get(name)} doesn't have; add --set {name}={value}."
            )


def _ranks() -> str:
    return ",".join(map(str, default_ranks(topology.allowed_cores(topology.machine()))))


class ScalingOptions(Params):
    """Settings of a scaling study."""

    ranks: str = Field(default_factory=_ranks, description="numbers of ranks to compare, with commas between them")
    weak: bool = Field(False, description="the same work for each rank, instead of the same work for all together")
    repeats: int = Field(3, ge=1, le=REPEATS, description="interleaved runs of each number of ranks")


def _plan(form: StudyRequest) -> Plan:
    numbers, weak, repeats = read_ranks(form.options.ranks), form.options.weak, form.options.repeats
    return plan_here(form.store, form.session, form.workload, form.params, numbers, form.placement, weak, repeats)


FORM = StudyForm(
    "Scaling: one workload on several numbers of ranks",
    ScalingOptions,
    _plan,
    takes=lambda workload: workload.scaling is not None,
    start=lambda workload, options: {} if options.weak else scaling_of(workload).strong,
    placement=("threads", "map_by", "per_resource", "cores_per_rank", "bind_to", "environment"),
    order=100,
)
