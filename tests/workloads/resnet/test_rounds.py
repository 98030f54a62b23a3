"""Rates of rounds, against their definition, and what a run says of them."""

from __future__ import annotations

import statistics
from typing import Any

import pytest

from tests.report.analysis.cases import run, times
from workshop.report.verdict import verdict
from workshop.workloads.resnet.rounds import summary

RATES = [12.0, 12.6, 11.7]
TOTALS = times([8.0, 8.0], [1.5, 1.5], [0.3, 0.3], [0.0, 0.0])
METRICS = {
    "exchange": "horovod",
    "updates": 14,
    "measured_steps": 10,
    "model": "ResNet50",
    "rounds": summary(RATES, 2),
    "images_per_second": 24.2,
    "phases": {"input": [0.0, 0.0], "compute": [8.0, 8.0], "communicate": [1.5, 1.5], "wait": [0.5, 0.5]},
    "weights": ["a", "a"],
    "loss": 1.0,
}


def words(metrics: dict[str, Any] | None = None, **changes: Any) -> dict[str, str]:
    return verdict(run(workload="resnet", params={"batch": 4}, metrics=METRICS | (metrics or {}), **changes), TOTALS)


def test_the_mean_of_the_rounds_and_its_deviation() -> None:
    rounds = summary(RATES, 2)
    deviation = statistics.pstdev(RATES)
    assert rounds["per_rank"] == pytest.approx(12.1)
    assert rounds["per_rank_deviation"] == pytest.approx(1.96 * deviation)
    assert rounds["total"] == pytest.approx(24.2)
    assert rounds["jitter_share"] == pytest.approx(deviation / 12.1)


def test_the_verdict_has_the_rate_the_most_that_can_be_gained_and_the_published_gain() -> None:
    said = words()
    assert said["verdict"] == "24.2 ± 1.5 images/s on 2 ranks."
    assert "12.1 ± 0.7 for each rank" in said["why"]
    assert "at most 1.60 times as fast as one (efficiency 80 %)" in said["why"]
    assert "a speed-up of 1.89 and an efficiency of 95 %: 334.0 images/s on one V100, 632.8 on two" in said["why"]
    assert "Ohio State University" in said["why"]
    assert "--ranks 1" in said["next"]


def test_ranks_that_exchange_nothing_are_told_of_no_limit() -> None:
    said = words({"exchange": "none"})
    assert "at most" not in said["why"]
    assert "--exchange auto" in said["next"]
