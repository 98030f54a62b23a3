"""All-reduces of our own messages on real ranks, and runs of the workload with each kind of step."""

from __future__ import annotations

import pytest

from tests.ranks import by_ranks, run_ranks
from tests.support import starts_processes
from tests.workloads.scale.messages_program import PARAMS, STEPS
from workshop.workloads.scale.exchange import ALGORITHMS
from workshop.workloads.scale.step import StepMeasurement

pytestmark = pytest.mark.real


@pytest.fixture(scope="module", params=by_ranks(2, 3, 4))
@starts_processes
def results(request):
    return run_ranks("tests.workloads.scale.messages_program", request.param)


def test_sums_are_those_of_the_mpi(results) -> None:
    assert len(results["errors"]) == 6 * len(ALGORITHMS)
    for name, error in results["errors"].items():
        assert error < (0.02 if name.endswith("True") else 1e-5), name


def test_a_step_has_its_parts(results) -> None:
    for metrics in results["metrics"]:
        seconds = metrics["seconds"]
        assert metrics["steps"] == len(metrics["step_seconds"]) == PARAMS["steps"]
        assert 0 < seconds["compute"] < seconds["step"] and seconds["exchange"] >= 0 and seconds["stragglers"] >= 0
        rate = 32 * results["ranks"] / seconds["step"]
        assert metrics["examples_per_second"] == pytest.approx(rate)
    assert results["metrics"][1]["seconds"]["evaluation"] > 0 and results["metrics"][1]["seconds"]["checkpoint"] > 0


def test_a_calibration_has_what_the_model_needs(results) -> None:
    for metrics, changes in zip(results["metrics"], STEPS, strict=True):
        if not changes.get("calibrate", True):
            assert metrics["calibration"] is None
            continue
        run = {"workload": "training-step", "params": {**PARAMS, **changes}, "metrics": metrics}
        calibration = StepMeasurement.of_run(run, "the run").calibration
        assert calibration.ranks == results["ranks"] and set(calibration.compute) == {8, 16, 32, 64}
        assert set(calibration.messages) == ({"between"} if changes.get("per_host") else {"inside"})
        assert set(calibration.all_reduces) == set(ALGORITHMS)
