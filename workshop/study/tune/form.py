"""The form of the tuner."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from workshop.extension import Params
from workshop.study.form import StudyForm, StudyRequest
from workshop.study.scaling.plan import scaling_of
from workshop.study.tune.plan import TRIALS, plan_here, read_budget, tuning_of
from workshop.study.tune.study import TuneStudy


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
    order=300,
)
