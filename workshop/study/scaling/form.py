"""The form of scaling studies."""

from __future__ import annotations

from pydantic import Field

from workshop.core import topology
from workshop.extension import Params
from workshop.study.form import StudyForm, StudyRequest
from workshop.study.scaling.plan import REPEATS, default_ranks, plan_here, read_ranks, scaling_of
from workshop.study.trials import Plan


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
