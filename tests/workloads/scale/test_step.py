"""Calibrations and predicted steps: links that are known, changes that must act as they should, bad input."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.scale import BASE_RANKS, combinations
from tests.report.analysis.cases import run
from workshop.core.errors import BadInput
from workshop.report.verdict import verdict
from workshop.workloads.scale import WORKLOAD, StepParams
from workshop.workloads.scale.exchange import NetworkLink, Simulation
from workshop.workloads.scale.step import StepMeasurement, StepPrediction, draw_compute, fit_link, predict

INSIDE, BETWEEN = NetworkLink(1e-4, 1e9), NetworkLink(5e-4, 5e7)
PARAMS = {"per_host": 2, "spread": 0.1}
RANKS = 4


def document() -> dict[str, Any]:
    """A run whose calibration has the links above without noise, and lognormal compute times."""
    stream = np.random.default_rng(3)
    compute = {
        str(batch): (0.02 * batch / 32 * np.exp(0.1 * stream.standard_normal((RANKS, 24)) - 0.005)).tolist()
        for batch in (8, 16, 32, 64)
    }
    messages = {
        place: {str(size): [link.seconds(size)] * 3 for size in (1024, 65536, 1_000_000)}
        for place, link in (("inside", INSIDE), ("between", BETWEEN))
    }
    calibration = {
        "ranks": RANKS,
        "per_host": 2,
        "batch": 32,
        "compute": compute,
        "input": [[0.001]] * RANKS,
        "evaluation": [[0.03]] * RANKS,
        "checkpoint": [[0.03]],
        "messages": messages,
        "all_reduces": {},
    }
    metrics = {"seconds": {"step": 0.05}, "calibration": calibration}
    return {"workload": "training-step", "params": PARAMS, "metrics": metrics}


def measurement(**changes: Any) -> StepMeasurement:
    return StepMeasurement.of_run({**document(), **changes}, "run 7")


def predicted(ranks: int = RANKS, **changes: Any) -> StepPrediction:
    return predict(measurement(), StepParams(**{**PARAMS, **changes}), ranks)


@given(st.floats(1e-6, 1e-2), st.floats(1e6, 1e10))
def test_a_link_is_found_in_its_messages(latency: float, bandwidth: float) -> None:
    link = NetworkLink(latency, bandwidth)
    sizes = [int(latency * bandwidth * factor) + 1 for factor in (0.1, 1, 10, 100)]
    fitted = fit_link({size: [link.seconds(size)] for size in sizes})
    assert fitted.latency == pytest.approx(latency, rel=1e-3) and fitted.bandwidth == pytest.approx(bandwidth, rel=1e-3)


def test_links_of_a_calibration_are_those_that_were_measured() -> None:
    network = measurement().calibration.network
    assert network.inside.latency == pytest.approx(INSIDE.latency, rel=1e-6)
    assert network.between.bandwidth == pytest.approx(BETWEEN.bandwidth, rel=1e-6)
    assert measurement().calibration.compute_seconds(128) == pytest.approx(0.08, rel=0.05)


def test_parts_add_up_to_the_step_and_the_measured_step_is_met() -> None:
    prediction = predicted()
    assert prediction.seconds == pytest.approx(0.05) == pytest.approx(sum(prediction.parts.values()))
    assert prediction.low < prediction.seconds < prediction.high
    assert prediction.rate == pytest.approx(RANKS * 32 / 0.05)


def test_all_reduces_that_take_longer_than_their_messages_slow_the_exchange() -> None:
    values = document()
    network = measurement().calibration.network
    ring = Simulation(RANKS, network, "ring")
    seconds = float(ring.exchange(np.zeros(RANKS), 1e6).max())
    values["metrics"]["calibration"]["all_reduces"] = {"ring": {"1000000": [1.5 * seconds] * 5}}
    slow = StepMeasurement.of_run(values, "run 7")
    assert slow.calibration.slowdown("ring", 1e6) == pytest.approx(1.5)
    assert slow.calibration.slowdown("tree", 1e6) == 1

    def exchange(measured: StepMeasurement) -> float:
        parts = predict(measured, StepParams(**PARAMS), RANKS).parts
        return parts["latency"] + parts["bandwidth"]

    assert exchange(slow) == pytest.approx(1.5 * exchange(measurement()), rel=0.05)


def test_changes_act_as_they_should() -> None:
    base = predicted()
    slower = predicted(bandwidth=5.0)
    assert slower.parts["bandwidth"] == pytest.approx(10 * base.parts["bandwidth"], rel=0.25)
    assert predicted(latency=5000.0).parts["latency"] > 3 * base.parts["latency"]
    assert predicted(half=True).parts["bandwidth"] == pytest.approx(base.parts["bandwidth"] / 2, rel=0.25)
    assert predicted(slow=2.0).seconds > base.seconds + 0.014
    assert predicted(spread=0.0).parts["stragglers"] == pytest.approx(0, abs=1e-9)
    assert predicted(overlap=True, bucket=100_000).parts["bandwidth"] < base.parts["bandwidth"]
    assert predicted(bucket=0).parts["latency"] > 5 * base.parts["latency"]
    assert predicted(batch=64).parts["compute"] == pytest.approx(2 * base.parts["compute"], rel=0.05)
    assert predicted(evaluate_every=1).seconds == pytest.approx(base.seconds + 0.03, rel=1e-3)
    assert predicted(checkpoint_every=3).seconds == pytest.approx(base.seconds + 0.01, rel=1e-3)
    assert predicted(input=11.0).parts["input"] == pytest.approx(0.011)


def test_intervals_widen_with_the_ranks_and_limits_change() -> None:
    few, many = predicted(8), predicted(2048)
    assert (many.high - many.low) / many.seconds > 2 * (few.high - few.low) / few.seconds
    assert many.limit == "latency" and predicted(1).parts["bandwidth"] == 0
    assert predicted(1, per_host=0).parts["stragglers"] == 0


def test_stragglers_are_those_of_order_statistics() -> None:
    stream = np.random.default_rng(8)
    samples = np.exp(0.1 * stream.standard_normal((4, 500)))
    params = StepParams(spread=0.1)
    for ranks in (2, 8, 64):
        drawn = draw_compute(samples, ranks, params, params).max(axis=1).mean()
        simulated = np.exp(0.1 * stream.standard_normal((20_000, ranks))).max(axis=1).mean()
        assert drawn == pytest.approx(simulated, rel=0.02)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"workload": "mnist"}, "run 7 is no run of `training-step`"),
        ({"metrics": {"seconds": {"step": 0.05}, "calibration": None}}, "run 7 has no calibration"),
        ({"params": {"steps": -1}}, "training-step: steps is -1"),
    ],
)
def test_runs_without_a_calibration_are_refused(changes: dict[str, Any], sentence: str) -> None:
    with pytest.raises(BadInput, match=sentence):
        measurement(**changes)


def test_ranks_that_cannot_be_predicted_are_refused() -> None:
    for ranks in (0, 10**6):
        with pytest.raises(BadInput, match=f"{ranks} ranks can't be predicted"):
            predicted(ranks)
    with pytest.raises(BadInput, match="servers is 3, but there are 2 ranks"):
        assert WORKLOAD.fits is not None
        WORKLOAD.fits(StepParams(algorithm="servers", servers=3), {}, 2)
    with pytest.raises(BadInput, match="tensors is 200, but there are 100 weights"):
        WORKLOAD.check({"tensors": 200, "parameters": 100})


def test_there_are_more_than_fifty_what_ifs_that_can_be_run() -> None:
    changes = combinations()
    assert len(changes) >= 50 and len({change.title for change in changes}) == len(changes)
    for change in changes:
        params = WORKLOAD.check({**PARAMS, **change.changes})
        assert WORKLOAD.fits is not None
        WORKLOAD.fits(params, {}, change.ranks)
        assert change.changes or change.ranks != BASE_RANKS


@pytest.mark.parametrize("part", ["stragglers", "exchange"])
def test_the_verdict_names_the_longest_part(part: str) -> None:
    seconds = dict.fromkeys(("input", "compute", "stragglers", "exchange", "evaluation", "checkpoint"), 0.001)
    seconds |= {part: 0.04, "step": 0.045}
    words = verdict(
        run(workload=WORKLOAD.name, params={}, metrics={"seconds": seconds, "examples_per_second": 2844}), {}
    )
    assert f"{part} takes most of a step" in words["verdict"] and f"{part} 89 %" in words["why"]
    assert "paced" in words["why"] and "The page Scale" in words["next"]
