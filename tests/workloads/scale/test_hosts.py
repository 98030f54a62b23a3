"""Steps on emulated hosts whose link is limited by the kernel: the link is found, and changed steps are predicted."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

from tests.hosts import emulated, session_on
from tests.live_session import Session
from workshop.core.placement import Placement
from workshop.workloads.scale import StepParams
from workshop.workloads.scale.run import ranks_per_host
from workshop.workloads.scale.step import StepMeasurement, predict

BYTES_PER_SECOND = 12.5e6
SETTINGS = {"compute": 10.0, "spread": 0.02, "steps": 8, "tensors": 4}
CHANGES: list[dict[str, Any]] = [
    {"half": True},
    {"algorithm": "hierarchical"},
    {"algorithm": "tree"},
    {"algorithm": "recursive-doubling"},
    {"algorithm": "servers"},
    {"parameters": 500_000},
]


@pytest.mark.parametrize(("hosts", "count"), [("aabb", 2), ("abc", 1), ("aaaa", 0), ("aab", 0), ("abab", 0), ("a", 0)])
def test_ranks_of_each_host(hosts: str, count: int) -> None:
    assert ranks_per_host(list(hosts)) == count


def measured(session: Session, **params: Any) -> dict[str, Any]:
    placement = Placement.parse(session.now.placement)
    run = session.wait(session.submit("training-step", placement, **SETTINGS, **params))
    assert run.status == "completed", run.error
    return run.as_json()


def median_error(session: Session) -> float:
    """The median relative error of the changes, each predicted from a base and then run; infinite where the base
    doesn't find the link."""
    base = StepMeasurement.of_run(measured(session), "the base")
    network = base.calibration.network
    assert (base.calibration.hosts, base.calibration.per_host) == (2, 2)
    finds = 0.6 < network.between.bandwidth / BYTES_PER_SECOND < 1.4
    if not finds or network.inside.bandwidth < 4 * network.between.bandwidth:
        return math.inf
    errors = []
    for change in CHANGES:
        step = measured(session, calibrate=False, **change)["metrics"]["seconds"]["step"]
        errors.append(abs(predict(base, StepParams(**SETTINGS, **change), 4).seconds / step - 1))
    return sorted(errors)[len(errors) // 2 - 1]


@pytest.mark.real
def test_steps_over_a_limited_link_are_predicted(workshop_home: Path) -> None:
    """A busy machine slows the base or the changes, so one of several tries has to hold."""
    rate = 8 * BYTES_PER_SECOND
    with emulated(2, rate) as hosts, session_on(hosts, workshop_home, "hostA:2,hostB:2", "--oversubscribe") as session:
        assert any(median_error(session) < 0.25 for _ in range(4))
