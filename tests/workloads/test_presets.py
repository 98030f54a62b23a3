"""Presets of workloads: each can be run as it stands."""

from __future__ import annotations

import pytest

from workshop.core.placement import Placement
from workshop.extension import MOST_PRESETS, Params, Preset, Workload
from workshop.registry import workloads

PRESETS = [(workload, preset) for workload in workloads().values() for preset in workload.presets]


@pytest.mark.parametrize("workload, preset", PRESETS, ids=lambda part: getattr(part, "title", part))
def test_a_preset_can_be_run(workload: Workload, preset: Preset) -> None:
    workload.check(preset.params)
    Placement.parse(preset.placement_on(4))
    assert preset.shows.endswith(".")


def test_ranks_follow_the_cores_of_the_machine() -> None:
    crowded = Preset("Crowded", "They wait.", placement={"threads": 1}, per_core=2)
    assert crowded.placement_on(4) == {"threads": 1, "ranks": 8}
    assert crowded.placement_on(0) == {"threads": 1}, "nobody knows the machine yet"


def test_a_form_stays_short() -> None:
    with pytest.raises(ValueError, match="5 presets; at most 4"):
        Workload("x", "X", "", Params, "x:y", presets=(Preset("X", "Y."),) * (MOST_PRESETS + 1))
