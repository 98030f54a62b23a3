"""The form of the article's path."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from workshop.extension import Params
from workshop.study.form import StudyForm, StudyRequest
from workshop.study.guided.plan import Setting, plan_here, read_steps
from workshop.study.tune.plan import tuning_of
from workshop.workloads.sgan.study.guide import GUIDE


class PathOptions(Params):
    """Settings of the guided study."""

    setting: Literal["quick", "thorough"] = Field("quick", description="few trials, or larger grids and three repeats")
    steps: str = Field(",".join(GUIDE.keys), description="some of the steps, with commas between them")


def _plan(form: StudyRequest) -> Setting:
    steps, thorough = read_steps(GUIDE, form.options.steps), form.options.setting == "thorough"
    return plan_here(GUIDE, form.session, form.params, thorough=thorough, steps=steps)


FORM = StudyForm(
    f"Guided study: {GUIDE.title[0].lower()}{GUIDE.title[1:]}",
    PathOptions,
    _plan,
    takes=lambda workload: workload.name == GUIDE.workload,
    hidden=lambda workload: {*GUIDE.reserved, tuning_of(workload).length},
)
