"""A loss that goes up is told; one that only seems to, because the run went on from another, is not."""

from __future__ import annotations

from typing import Any

import pytest

from tests.report.analysis.cases import times, trained
from workshop.report.verdict import verdict

EVEN = times([1.2, 1.2], [0.15, 0.15], [0.03, 0.03])


def test_a_loss_that_went_up_is_told_from_its_events() -> None:
    run = trained(2, {"loss": 2.9, "learning_rate": 0.4, "held_out_accuracy": 0.1}, rate=0.2, warmup=0)
    said = verdict(run, EVEN | {"loss": {0: (102, 102 * 2.4)}})
    assert said["verdict"] == "The loss went up, not down."
    assert "last epoch was 2.9, that of all 102 steps 2.4" in said["why"] and "without warm-up" in said["why"]
    assert "--warmup 2" in said["next"]
    falls = verdict(run, EVEN | {"loss": {0: (102, 102 * 3.4)}})
    assert falls["verdict"].startswith("Trained to")


@pytest.mark.parametrize(
    ("last", "epochs", "resumed", "rises"),
    [
        (2.7, 8, None, True),
        (2.6, 8, None, False),  # within the margin
        (2.7, 8, {"epoch": 6, "update": 60}, True),
        (2.7, 8, {"epoch": 7, "update": 70}, False),  # one epoch: its mean is that of all steps
        (2.7, 1, None, False),
    ],
)
def test_a_loss_goes_up_within_this_runs_epochs(last: float, epochs: int, resumed: Any, rises: bool) -> None:
    run = trained(2, {"loss": last, "epochs": epochs, "resumed": resumed})
    said = verdict(run, EVEN | {"loss": {0: (40, 40 * 2.4)}})
    assert (said["verdict"] == "The loss went up, not down.") == rises
