"""A loss that goes up is told; one that only seems to, because the run went on from another, is not."""

from __future__ import annotations

from typing import Any

import pytest

from tests.report.analysis.cases import times, trained
from workshop.report.verdict import verdict
from workshop.store.records import Total

EVEN = times([1.2, 1.2], [0.15, 0.15], [0.03, 0.03])


def test_a_loss_that_went_up_is_told_from_its_events() -> None:
    run = trained(2, {"loss": 2.9, "learning_rate": 0.4, "held_out_accuracy": 0.1}, rate=0.2, warmup=0)
    said = verdict(run, EVEN | {"loss": {0: Total(102, 102 * 2.4)}})
    assert said["verdict"] == "The loss went up, not down."
    assert "last epoch was 2.9, that of all 102 steps 2.4" in said["why"] and "without warm-up" in said["why"]
    assert "--warmup 2" in said["next"]
    falls = verdict(run, EVEN | {"loss": {0: Total(102, 102 * 3.4)}})
    assert falls["verdict"].startswith("Trained to")


@pytest.mark.parametrize(
    ("last", "epochs", "resumed", "rises"),
    [
        (2.7, 8, None, True),
        (2.6, 8, None, False),  # within the margin
        (2.7, 8, {"epoch": 7, "update": 70}, False),  # one epoch: its mean is that of all steps
    ],
)
def test_a_loss_goes_up_within_this_runs_epochs(last: float, epochs: int, resumed: Any, rises: bool) -> None:
    run = trained(2, {"loss": last, "epochs": epochs, "resumed": resumed})
    said = verdict(run, EVEN | {"loss": {0: Total(40, 40 * 2.4)}})
    assert (said["verdict"] == "The loss went up, not down.") == rises


MISSED = {"time_to_target": None, "epochs_to_target": None, "learning_rate": 0.64, "updates": 20}


@pytest.mark.parametrize(
    ("told", "said"),
    [
        (
            {"held_out_accuracy": 0.297, "first_loss": 2.35, "highest_loss": 7.3},
            "Training broke: 29.7 % after 20 updates.",
        ),
        ({"held_out_accuracy": 0.9, "first_loss": 2.35, "highest_loss": 2.4}, "Trained to 90 %"),
        ({"held_out_accuracy": 0.11, "first_loss": 2.35, "highest_loss": 2.4}, "The training learned nothing: 11 %"),
    ],
)
def test_a_training_that_broke_is_told_before_anything_else(told: dict[str, Any], said: str) -> None:
    late = {"last": [1, 99], "late_by": [0.0, 0.02]}
    phases = {"input": [0.0] * 2, "compute": [1.0, 1.9], "communicate": [0.1] * 2, "wait": [0.9, 0.0]}
    assert verdict(trained(2, MISSED | told), EVEN)["verdict"].startswith(said)
    if "broke" in said:
        assert verdict(trained(2, MISSED | told | late | {"phases": phases}), EVEN)["verdict"] == said
