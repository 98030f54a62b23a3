"""What a run may be asked for, and what is said of what can't be; all before any rank is started."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from workshop.core.errors import BadInput
from workshop.extension import no_artifacts
from workshop.registry import workload
from workshop.workloads.sgan import WORKLOAD


@pytest.mark.real
def test_it_is_registered_and_cheap_to_import():
    assert workload("sgan") is WORKLOAD
    code = "import sys, workshop.workloads.sgan; print(sorted({'numpy', 'tensorflow', 'mpi4py'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "[]\n"


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"size": 30}, "size is 30"),
        ({"size": "large"}, "size is 'large'"),
        ({"labels": 0}, "labels is 0: it should be at least 1"),
        ({"batch": "x"}, "batch is 'x'"),
        ({"evaluate_every": 0}, "evaluate_every is 0"),
        ({"evaluate_by": "nobody"}, "evaluate_by is 'nobody'"),
        ({"inference": "guess"}, "inference is 'guess'"),
        ({"method": "magic"}, "method is 'magic'"),
        ({"rate": "nan"}, "rate is"),
        ({"epochs": 3}, "epochs is not one of its settings"),
    ],
)
def test_params_out_of_range_are_refused_in_one_sentence(values, words):
    with pytest.raises(BadInput) as refused:
        WORKLOAD.check(values)
    assert words in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_size_may_be_a_word_of_the_command_line():
    assert [WORKLOAD.check({"size": size}).size for size in ("28", 56, "112")] == [28, 56, 112]


@pytest.mark.parametrize(
    ("values", "ranks", "words"),
    [
        ({"batch": 700}, 2, "batch is 700, but of the 1337 unlabelled images a rank's share is only 668; take a batch"),
        ({"batch": 1338}, 1, "take a batch of at most 1337."),
        ({"labels": 200}, 1, "labels is 200, but there are only 139 images of the digit 8; take at most 139."),
        ({"evaluate_images": 361}, 1, "evaluate_images is 361, but only 360 images are held out; take at most 360."),
        ({}, 2000, "too few for 2000 ranks; take fewer ranks or labels."),
    ],
)
def test_what_the_images_are_too_few_for_is_refused_beforehand(values, ranks, words):
    params = WORKLOAD.check({"data": "digits", **values})
    with pytest.raises(BadInput) as refused:
        WORKLOAD.fits(params, WORKLOAD.inputs(params, no_artifacts), ranks)
    assert words in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_classifier_without_a_generator_needs_no_unlabelled_images():
    params = WORKLOAD.check({"data": "digits", "batch": 1400, "method": "supervised"})
    WORKLOAD.fits(params, WORKLOAD.inputs(params, no_artifacts), 2)


def test_images_without_one_of_the_digits_are_refused(tmp_path):
    pictures, labels = np.zeros((30, 28, 28), np.uint8), np.arange(30) % 9
    np.savez(tmp_path / "own.npz", x_train=pictures, y_train=labels, x_test=pictures, y_test=labels)
    params = WORKLOAD.check({"data": str(tmp_path / "own.npz"), "labels": 1, "batch": 1})
    with pytest.raises(BadInput, match="There is no image of the digit 9 to train on"):
        WORKLOAD.fits(params, WORKLOAD.inputs(params, no_artifacts), 1)
