"""What a run may be asked for, and what is said of what can't be; all before any rank is started."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from workshop.core.errors import BadInput
from workshop.extension import no_artifacts
from workshop.registry import workload
from workshop.workloads.inversion import WORKLOAD


@pytest.mark.real
def test_it_is_registered_and_cheap_to_import():
    assert workload("inversion") is WORKLOAD
    code = (
        "import sys, workshop.workloads.inversion; print(sorted({'numpy', 'tensorflow', 'scipy'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "[]\n"


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"images": 0}, "images is 0: it should be at least 1"),
        ({"images": 65}, "images is 65: it should be at most 64"),
        ({"digit": 10}, "digit is 10: it should be at most 9"),
        ({"rate": 0}, "rate is 0: it should be greater than 0"),
        ({"rounds": 3}, "rounds is not one of its settings"),
    ],
)
def test_params_out_of_range_are_refused_in_one_sentence(values, words):
    with pytest.raises(BadInput) as refused:
        WORKLOAD.check(values)
    assert words in str(refused.value)
    assert "\n" not in str(refused.value)


def own_images(folder, labels):
    pictures, labels = np.zeros((len(labels), 28, 28), np.uint8), np.array(labels)
    np.savez(folder / "own.npz", x_train=pictures, y_train=labels, x_test=pictures, y_test=labels)
    return str(folder / "own.npz")


@pytest.mark.parametrize(
    ("values", "ranks", "words"),
    [
        ({"images": 5}, 1, "There are only 4 images to train on, and images is 5; take fewer."),
        ({"digit": 3}, 1, "There is no image of the digit 3 to train on"),
        ({"digit": 2}, 2, "There is no image of the digit 3 to train on, which one of the 2 ranks would send"),
    ],
)
def test_what_the_images_are_too_few_for_is_refused_beforehand(tmp_path, values, ranks, words):
    params = WORKLOAD.check({"data": own_images(tmp_path, [0, 1, 2, 2]), **values})
    with pytest.raises(BadInput) as refused:
        WORKLOAD.fits(params, WORKLOAD.inputs(params, no_artifacts), ranks)
    assert words in str(refused.value)
    assert "\n" not in str(refused.value)
