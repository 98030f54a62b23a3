"""What the unlabelled images are good for: the same classifier with them and without."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support import limit
from tests.workloads.sgan.test_run import run

SEEDS = (0, 1)
SHORT = {"batch": 64, "iterations": 500, "evaluate_every": 500, "trace": 0}


@pytest.mark.exhaustive
@pytest.mark.timeout(limit(900))
def test_with_unlabelled_images_a_hundred_labels_teach_more() -> None:
    """Against the classifier trained on the labels alone: the same images, labels, steps and settings. A single run's
    accuracy is uncertain by a percent or two, which is what the seeds and their mean are for."""
    found = {
        method: [run({**SHORT, "method": method, "seed": seed})[0]["held_out_accuracy"] for seed in SEEDS]
        for method in ("sgan", "supervised")
    }
    assert np.mean(found["sgan"]) > np.mean(found["supervised"]) + 0.01
    assert min(found["sgan"]) > 0.88
