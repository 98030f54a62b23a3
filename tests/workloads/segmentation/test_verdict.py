"""What a federation says of itself where Dice is what is measured."""

from __future__ import annotations

import math

from tests.workloads.federated.report.test_verdict import said, three, way
from workshop.workloads.segmentation import SegmentationParams

PARAMS = SegmentationParams(way="all").model_dump()
INSTITUTIONS = [{"images": 24, "validation": 6} for _ in range(4)]
DICE = {"measure": "Dice", "institutions": INSTITUTIONS, "held_out_images": 120}


def dice(came, params=None, **changes):
    return said(came, PARAMS | (params or {}), **DICE | changes)


def test_percentages_say_what_they_are_of():
    told = dice({"federated": way(0.632, 0.786)})
    assert told["verdict"].startswith("Federated learning came to a Dice coefficient of 63.2 % on held-out images")
    assert "mean Dice coefficients: federated 63.2 %" in dice(three(0.632, 0.688, 0.526))["why"]
    assert "each with a scanner of its own" in dice(three(0.632, 0.688, 0.526))["why"]


def test_a_difference_is_judged_by_how_much_patients_differ():
    """Twice sqrt(2 / 120) standard deviations: 0.077 where that is 0.3."""
    ways = three(0.632, 0.688, 0.526)
    assert "can't be told from pooled images or each alone" in dice(ways)["verdict"], (
        "values from 0 to 1 could scatter more"
    )
    measured = dice(ways, held_out_deviation=0.3)["verdict"]
    assert measured == "Federated learning can't be told from pooled images and is 10.6 points better than each alone."
    assert "or each alone" in dice(ways, held_out_deviation=0.45)["verdict"]


def test_what_to_try_next_is_something_that_this_workload_has():
    told = dice(three(0.632, 0.640, 0.526))
    assert "--modality ct, --modality pet" in told["next"]
    assert "digit" not in told["next"] + told["verdict"] + told["why"]


def test_a_loss_that_is_no_number_is_not_compared_with_guessing_digits():
    told = dice({"federated": way(0.1)}, loss=math.nan)
    assert told["verdict"] == "The training diverged."
    assert "guessing" not in told["why"]
