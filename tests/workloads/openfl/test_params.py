"""What may be asked of a federation with OpenFL; all before any rank is started."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests import openfl
from workshop.core.errors import BadInput
from workshop.extension import no_artifacts
from workshop.registry import workload
from workshop.workloads.federated import FederatedParams
from workshop.workloads.mnist.data import images
from workshop.workloads.openfl import LESIONS, WORKLOAD
from workshop.workloads.segmentation import SegmentationParams


@pytest.mark.real
def test_it_is_registered_and_cheap_to_import():
    assert workload("openfl") is WORKLOAD
    code = "import sys, workshop.workloads.openfl; print(sorted({'numpy', 'tensorflow', 'mpi4py'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "[]\n"


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"collaborators": 0}, "collaborators is 0: it should be greater than 0"),
        ({"collaborators": 17}, "collaborators is 17: it should be at most 16"),
        ({"alpha": -1}, "alpha is -1"),
        ({"alpha": 0}, "alpha is 0"),
        ({"rounds": 0}, "rounds is 0"),
        ({"rate": "nan"}, "rate is"),
        ({"fault": "rain"}, "fault is 'rain'"),
        ({"institutions": 3}, "institutions is not one of its settings"),
        ({"fault": "dies", "collaborators": 1}, "take 2 collaborators and 3 rounds or more"),
        ({"fault": "dies", "rounds": 2}, "take 2 collaborators and 3 rounds or more"),
        ({"task": "segmentation", "partition": "label"}, "partition is label, which deals digits; take iid or shift"),
    ],
)
def test_params_that_cannot_be_are_refused_in_one_sentence(values, words):
    with pytest.raises(BadInput) as refused:
        WORKLOAD.check(values)
    assert words.replace("greater than 0", "at least 1") in str(refused.value)
    assert "\n" not in str(refused.value)


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


def test_more_collaborators_than_images_are_refused():
    with pytest.raises(BadInput, match="take at most 2"):
        WORKLOAD.fits(WORKLOAD.check({"images": 5}), images.find("digits"), 1)


@pytest.mark.real
def test_with_openfl_the_images_travel(workshop_home):
    openfl.use(workshop_home)
    params = WORKLOAD.check({"data": "digits"})
    assert WORKLOAD.inputs(params, no_artifacts) == images.find("digits")
