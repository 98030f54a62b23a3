"""Params: what is refused, and that describing the workload costs nothing."""

from __future__ import annotations

import subprocess
import sys

import pytest

from workshop.core.errors import BadInput
from workshop.extension import no_artifacts
from workshop.workloads.kmeans import WORKLOAD


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"clusters": 0}, "clusters"),
        ({"clusters": "many"}, "clusters"),
        ({"data": "blobs", "points": 10, "clusters": 11}, "11 clusters need as many points; there are 10"),
        ({"mode": "online", "batch": 5, "clusters": 6}, "6 clusters need as many points in a batch; there are 5"),
        ({"data": "blobs", "points": 0}, "points"),
        ({"pace": -1}, "pace"),
        ({"pace": float("nan")}, "pace"),
        ({"tolerance": float("inf")}, "tolerance"),
        ({"backend": "cuda"}, "backend"),
        ({"image": ""}, "image"),
        ({"colours": 3}, "colours"),
    ],
)
def test_bad_values_get_one_sentence(values, words):
    with pytest.raises(BadInput) as error:
        WORKLOAD.check(values)
    assert words in str(error.value)
    assert "\n" not in str(error.value)


def test_values_from_a_command_line_are_text():
    params = WORKLOAD.check({"clusters": "8", "tolerance": "0", "data": "blobs", "points": "100"})
    assert (params.clusters, params.tolerance, params.points) == (8, 0.0, 100)
    assert WORKLOAD.inputs(params, no_artifacts) == {}


def test_every_field_says_what_it_is():
    for name, field in WORKLOAD.params.model_fields.items():
        assert field.description, name


@pytest.mark.real
def test_describing_it_imports_no_numerical_library():
    program = (
        "import sys; from workshop.workloads.kmeans import WORKLOAD; WORKLOAD.check({}); "
        "print([name for name in ('numpy', 'numba', 'PIL', 'mpi4py', 'sklearn') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
