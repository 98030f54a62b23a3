"""What runs of the semi-supervised GAN say: labels, iterations, evaluation."""

from __future__ import annotations

from typing import Any

import pytest

from tests.report.analysis.cases import run, times
from workshop.report.verdict import verdict

TOTALS = times([10.0, 10.0], [0.5, 0.5], [0.1, 0.1], [0.05, 0.05])
PARAMS = {"method": "sgan", "iterations": 400, "evaluate_every": 15, "evaluate_by": "all", "batch": 64}
METRICS = {
    "exchange": "horovod",
    "updates": 400,
    "iterations": 400,
    "labelled_images": 100,
    "unlabelled_images": 1337,
    "train_images": 1437,
    "held_out_accuracy": 0.951,
    "images_per_second": 2345.0,
    "target": 0.92,
    "time_to_target": 6.0,
    "iterations_to_target": 180,
    "evaluations": 27,
    "evaluate_seconds": [0.4, 0.4],
    "evaluate_wait": [0.0, 0.0],
    "seconds": {"train": 20.0, "evaluate": 0.4, "prepare": 3.0},
    "loss": 0.8,
    "weights": ["a", "a"],
    "spread": 0.0,
    "learning_rate": 0.003,
}


def said(metrics: dict[str, Any] | None = None, params: dict[str, Any] | None = None, **changes: Any) -> dict[str, str]:
    known = run(workload="sgan", params=PARAMS | (params or {}), metrics=METRICS | (metrics or {}), **changes)
    return verdict(known, TOTALS)


def test_a_run_with_nothing_wrong_says_what_it_came_to() -> None:
    told = said()
    assert told["verdict"] == "Trained to 95.1 % in 20 s at 2,340 images/s."
    assert "400 iterations on 2 ranks over Horovod." in told["why"]
    assert "100 images had a label, 1,337 had none." in told["why"]
    assert "The target of 92 % was reached after 6 s of training (180 iterations)." in told["why"]
    assert "--method supervised" in told["next"]
    assert "broadcast" not in told["next"]


def test_the_classifier_alone_asks_what_the_others_add() -> None:
    told = said({"unlabelled_images": 0, "time_to_target": None}, {"method": "supervised"})
    assert "The classifier learned from 100 labelled images alone." in told["why"]
    assert "--method sgan" in told["next"]


def test_a_target_that_was_not_reached_asks_for_more_iterations() -> None:
    assert "--iterations 800" in said({"time_to_target": None})["next"]


@pytest.mark.parametrize(
    ("params", "why", "following"),
    [
        ({}, "There were 27 evaluations in 400 iterations.", "Evaluate less often (--evaluate-every 30), and compare."),
        (
            {"evaluate_by": "rank0"},
            "rank 0 made them alone, for which the others waited 9 s.",
            "Let all ranks share the held-out images (--evaluate-by all), and compare.",
        ),
        (
            {"evaluate_unit": "images"},
            "as they go by the images that all 2 ranks read.",
            "(--evaluate-unit iterations), and compare.",
        ),
    ],
)
def test_evaluation_that_takes_a_good_part_of_the_time_is_told(params: Any, why: str, following: str) -> None:
    told = said({"seconds": {"train": 20.0, "evaluate": 10.0}, "evaluate_wait": [0.0, 9.0]}, params)
    assert told["verdict"] == "Evaluation takes 33 % of the time."
    assert why in told["why"]
    assert following in told["next"]
