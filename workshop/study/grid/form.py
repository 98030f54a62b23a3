"""The form of grid studies."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import Field
from pydantic.config import JsonDict

from workshop.core.errors import BadInput
from workshop.extension import Params, Workload
from workshop.study.form import StudyForm, StudyRequest
from workshop.study.grid import plan as grids
from workshop.study.grid.axes import PLACING
from workshop.study.scaling.plan import REPEATS, scaling_of
from workshop.study.settings import read_axes
from workshop.study.trials import Plan

WITH: JsonDict = {"when": {"sampler": ["tpe", "random"]}}
WITHOUT: JsonDict = {"when": {"sampler": "none"}}


class GridOptions(Params):
    """Settings of a grid."""

    vary: dict[str, str] = Field(
        {"ranks": "1,2"}, description="ranks, threads, … of the placement, env.NAME, or a setting of the workload"
    )
    title: str = Field("", description="what to call the study")
    sampler: Literal["none", "tpe", "random"] = Field(
        "none", description="none runs all combinations; tpe (Optuna's) or random choose some of them"
    )
    weak: bool = Field(False, description="each rank has the whole batch, instead of its part, where ranks are varied")
    seeds: bool = Field(False, description="each repeat has a seed of its own")
    repeats: int = Field(1, ge=1, le=REPEATS, description="interleaved runs of each combination")
    trials: int = Field(20, ge=1, description="combinations that the sampler chooses", json_schema_extra=WITH)
    limit: int | None = Field(None, ge=1, description="run only so many, drawn at random", json_schema_extra=WITHOUT)
    best: int = Field(2, ge=0, le=grids.MOST_BEST, description="repeat the best combinations; 0: none")
    best_repeats: int = Field(3, ge=1, le=REPEATS, description="until each of them was run so often")
    compare: str = Field("", description="a metric to compare by, the more the better; empty: the speed")
    seed: int = Field(0, ge=0, le=2**31 - 1, description="of the sampler, or the limit")


def _plan(form: StudyRequest) -> Plan:
    axes = read_axes([f"{name}={values}" for name, values in form.options.vary.items()])
    if both := next((name for name in form.params if name in axes), None):
        raise BadInput(f"{both} is both set and varied; leave one out.")
    unused = {"sampler", "trials"} if form.options.sampler == "none" else {"limit"}
    options = grids.options(**form.options.model_dump(exclude={"vary", *unused}))
    return grids.plan_here(form.store, form.session, form.workload, axes, form.params, form.placement, options)


def _start(workload: Workload, options: GridOptions) -> Mapping[str, Any]:
    scaling = scaling_of(workload)
    return scaling.strong if scaling.share and "ranks" in options.vary and not options.weak else {}


FORM = StudyForm(
    "Grid: all combinations of some values",
    GridOptions,
    _plan,
    takes=lambda workload: workload.scaling is not None,
    start=_start,
    placement=(*PLACING, "environment"),
    order=200,
)
