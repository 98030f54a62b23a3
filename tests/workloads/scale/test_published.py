"""Published machines: each point is either fitted or predicted, and predictions beat a rate that stays."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.scale import judged
from workshop.core.errors import BadInput
from workshop.workloads.scale import regression


def test_machines_have_a_source_and_curves_that_grow() -> None:
    machines = regression.machines()
    assert {"summit", "frontera", "horovod-512", "v100-pair", "k80-ec2", "goyal-256", "sgan", "unet"} <= set(machines)
    for machine in machines.values():
        assert machine.source and machine.title and machine.unit and machine.worker
        for curve in machine.curves.values():
            assert list(curve.workers) == sorted(set(curve.workers)) and min(curve.rates) > 0
            assert len(curve.workers) > 1 or "can" in machine.note or "no run" in machine.note


def test_no_point_is_fitted_and_predicted() -> None:
    for point in regression.comparison(regression.machine("k80-ec2")):
        assert point.fitted == (1, 8, 16) and point.prediction.workers in (32, 64)
    (pair,) = regression.comparison(regression.machine("v100-pair"))
    assert pair.fitted == (1,) and pair.prediction.workers == 2 and pair.inside


def test_predictions_beat_the_rate_that_stays() -> None:
    points = judged()
    assert len(points) >= 20
    mean = np.mean([abs(point.error) for point in points])
    assert mean < np.mean([abs(point.naive / point.measured - 1) for point in points])
    assert np.mean([point.inside for point in points]) >= 0.9


def test_what_is_missing_is_a_sentence() -> None:
    with pytest.raises(BadInput, match="There is no published machine 'x'; there are k80-ec2"):
        regression.machine("x")
    with pytest.raises(BadInput, match=r"Frontera.* can't be predicted\. Neither the talk"):
        regression.comparison(regression.machine("frontera"))
