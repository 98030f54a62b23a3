"""Presets of workloads: each can be run as it stands. Settings that no run could take are refused."""

from __future__ import annotations

import re

import pytest

from workshop.core.errors import BadInput
from workshop.core.placement import Placement
from workshop.extension import MOST_PRESETS, Params, Preset, Workload
from workshop.registry import workloads

PRESETS = [(workload, preset) for workload in workloads().values() for preset in workload.presets]


@pytest.mark.parametrize("workload, preset", PRESETS, ids=lambda part: getattr(part, "title", part))
def test_a_preset_can_be_run(workload: Workload, preset: Preset) -> None:
    workload.check(preset.params)
    Placement.parse(preset.placement_on(4))
    assert preset.shows.endswith(".")


@pytest.mark.parametrize("workload", workloads().values(), ids=lambda workload: workload.name)
@pytest.mark.parametrize("number", ["inf", "-inf", "nan"])
def test_all_numbers_are_finite(workload: Workload, number: str) -> None:
    for name, field in workload.params.model_fields.items():
        if re.search(r"\bfloat\b", str(field.annotation)):
            with pytest.raises(BadInput, match=rf"\b{name} is '{number}': it should be a finite number"):
                workload.check({name: number})


def test_ranks_follow_the_cores_of_the_machine() -> None:
    crowded = Preset("Crowded", "They wait.", placement={"threads": 1}, per_core=2)
    assert crowded.placement_on(4) == {"threads": 1, "ranks": 8}
    assert crowded.placement_on(0) == {"threads": 1}, "nobody knows the machine yet"


def test_a_form_stays_short() -> None:
    with pytest.raises(ValueError, match="5 presets; at most 4"):
        Workload("x", "X", "", Params, "x:y", presets=(Preset("X", "Y."),) * (MOST_PRESETS + 1))
