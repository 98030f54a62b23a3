"""Scaling studies: a grid over ranks. Its cells, and what it refuses; pure except for `plan_here`.

Strong scaling keeps the work and divides it (Amdahl, AFIPS 1967). For training that means the same batch over all
ranks, so that every number of ranks takes the same steps: what is given as the batch is the batch of all ranks
together. A batch that doesn't divide is refused, since a rounded one would be other work. Weak scaling gives each rank
the same work, so that the whole grows with the ranks (Gustafson, CACM 31(5), 1988): the same batch per rank, and as
much to read for each rank. What that means for a workload, its descriptor says (`workshop.extension.Scaling`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import Field

from workshop.core import topology
from workshop.core.errors import BadInput
from workshop.core.placement import Placement
from workshop.extension import Params, Workload
from workshop.sessions import client
from workshop.store.records import SessionRecord
from workshop.store.store import Store
from workshop.study.grid import axes
from workshop.study.grid.plan import REPEATS, between, scaling_of
from workshop.study.kinds import StudyForm, StudyRequest
from workshop.study.trials import Plan

KIND = "scaling"
MOST = 32  # numbers of ranks in one study


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
    axes.read_axes({"ranks": list(ranks)}, workload)
    if not 2 <= len(ranks) <= MOST:
        raise BadInput(f"ranks has {len(ranks)} of 2 to {MOST} values; give several, such as 1,2,4.")
    where = placement.as_json()
    base = workload.check(given_params if weak else {**scaling.strong, **given_params}).model_dump(mode="json")
    share, total = scaling.share, scaling.total if weak else ""
    if total:
        extra: Any = workload.params.model_fields[total].json_schema_extra or {}
        for name, value in extra.get("when", {}).items():
            if base.get(name) != value:  # the total has no effect
                raise BadInput(
                    f"Weak scaling of {workload.name} needs more {total} for more ranks, which {name} "
                    f"{base.get(name)} doesn't have; add --set {name}={value}."
                )
    if share and not weak and (odd := next((number for number in ranks if base[share] % number), None)):
        step = math.lcm(*ranks)
        raise BadInput(
            f"{share} is {base[share]}, which {odd} ranks can't divide among them; strong scaling shares the same work "
            f"out, so give one that does, such as --set {share}={max(round(base[share] / step), 1) * step}, or compare "
            "with --weak."
        )
    grown = {number: {**base, total: base[total] * number} if total else base for number in ranks}
    cells = [axes.cell({"ranks": number}, workload, grown[number], where, not weak) for number in ranks]
    if why := next((cell.why for cell in cells if cell.why), ""):
        raise BadInput(why)
    described = {
        "ranks": tuple(ranks),
        "weak": weak,
        "repeats": between("repeats", repeats, 1, REPEATS),
        "rate": scaling.rate,
        "unit": scaling.unit,
        "params": base,
        "placement": {name: value for name, value in where.items() if name != "ranks"},
    }
    return Plan(KIND, workload.name, described, tuple(cells), repeats)


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
    planned = plan(workload, given_params, ranks, placement, weak, repeats)
    for cell in planned.cells:
        client.placement_in(session, cell.placement)
        client.inputs_of(store, workload, workload.check(cell.params), Placement.parse(cell.placement))
    return planned


def read_ranks(text: str, workload: Workload) -> list[int]:
    """Numbers of ranks from words like "1,2,4", ascending. Raises BadInput."""
    return sorted(axes.read_axes(axes.vary_words([f"ranks={text}"]), workload)["ranks"])


def default_ranks(cores: int) -> tuple[int, ...]:
    """1, 2, 4, … as far as the machine has cores, and always two numbers."""
    return tuple(2**power for power in range(max(int(math.log2(max(cores, 1))), 1) + 1))


def usual_ranks() -> str:
    """The default numbers of ranks on this machine, as words."""
    return ",".join(map(str, default_ranks(topology.allowed_cores(topology.machine()))))


class ScalingOptions(Params):
    """Settings of a scaling study."""

    ranks: str = Field(default_factory=usual_ranks, description="numbers of ranks to compare, with commas between them")
    weak: bool = Field(False, description="the same work for each rank, instead of the same work for all together")
    repeats: int = Field(3, ge=1, le=REPEATS, description="interleaved runs of each number of ranks")


def _plan(form: StudyRequest) -> Plan:
    numbers, weak, repeats = read_ranks(form.options.ranks, form.workload), form.options.weak, form.options.repeats
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
