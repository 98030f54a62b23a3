"""What may be asked of a federation with OpenFL; all before any rank is started."""

from __future__ import annotations

import pytest

from tests import openfl
from workshop.core.errors import BadInput
from workshop.extension import no_artifacts
from workshop.workloads.federated import FederatedParams
from workshop.workloads.mnist.data import images
from workshop.workloads.openfl import LESIONS, WORKLOAD
from workshop.workloads.segmentation import SegmentationParams


def test_the_same_settings_are_a_run_of_our_own():
    params = WORKLOAD.check({"collaborators": 5, "rounds": 2, "rate": 0.2, "model": "dense", "partition": "label"})
    same = params.as_federated()
    assert isinstance(same, FederatedParams)
    assert (same.institutions, same.rounds, same.rate, same.model, same.partition) == (5, 2, 0.2, "dense", "label")
    assert (same.algorithm, same.way, same.participation, same.optimizer) == ("fedavg", "federated", 1.0, "sgd")
    assert {name: getattr(same, name) for name in ("epochs", "batch", "seed")} == {
        name: getattr(params, name) for name in ("epochs", "batch", "seed")
    }


def test_lesions_are_a_run_of_the_workload_segmentation_with_its_defaults():
    same = WORKLOAD.check({"task": "segmentation", "collaborators": 2, "patients": 30, "batch": 5}).as_federated()
    assert isinstance(same, SegmentationParams)
    assert (same.institutions, same.patients, same.batch) == (2, 30, 5)
    own = SegmentationParams()
    for name in set(LESIONS) - {"batch"}:
        assert getattr(same, name) == getattr(own, name), name
    with pytest.raises(BadInput, match="institutions can't share 5 patients"):
        WORKLOAD.fits(WORKLOAD.check({"task": "segmentation", "patients": 5}), {}, 1)


def test_without_openfl_nothing_is_submitted(workshop_home):
    with pytest.raises(BadInput, match="workshop federation install"):
        WORKLOAD.inputs(WORKLOAD.check({"data": "digits"}), no_artifacts)


@pytest.mark.real
def test_with_openfl_the_images_travel(workshop_home):
    openfl.use(workshop_home)
    params = WORKLOAD.check({"data": "digits"})
    assert WORKLOAD.inputs(params, no_artifacts) == images.find("digits")
