"""The form of three ways of learning."""

from __future__ import annotations

from pydantic import Field

from workshop.extension import Params
from workshop.study.form import StudyForm, StudyRequest
from workshop.study.trials import Plan
from workshop.workloads.federated.study.plan import MEASURES, MOST, SEEDS, SETTINGS, WAY, checked


class WaysOptions(Params):
    """Settings of a study of three ways."""

    seeds: int = Field(SEEDS, ge=1, le=MOST, description="runs of all three ways, each with a seed of its own")


def _plan(form: StudyRequest) -> Plan:
    return checked(form.store, form.workload, form.params, form.options.seeds, form.session, form.placement)


FORM = StudyForm(
    "Three ways: pooled data, alone, federated",
    WaysOptions,
    _plan,
    takes=lambda workload: workload.name in MEASURES,
    start=lambda workload, options: SETTINGS[workload.name],
    hidden=lambda workload: (WAY,),
    placement=("ranks", "threads", "map_by", "cores_per_rank", "bind_to", "environment"),
)
