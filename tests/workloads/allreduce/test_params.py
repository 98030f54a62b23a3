"""Which sizes and methods there are, what is refused, and that describing the workload costs nothing."""

from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from workshop.core.errors import BadInput
from workshop.workloads.allreduce import METHODS, WORKLOAD

MOST = 64 << 20


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"smallest": 3}, "smallest"),
        ({"largest": MOST + 1}, "largest"),
        ({"smallest": 1024, "largest": 512}, "smallest is 1024, which is more than largest, 512"),
        ({"repeats": 2}, "repeats"),
        ({"methods": "ring,tree"}, "there is no method 'tree'; there are ring, own, horovod, parameter-server"),
        ({"methods": ","}, "some of ring"),
        ({"method": "ring"}, "method"),
    ],
)
def test_bad_values_get_one_sentence(values, words):
    with pytest.raises(BadInput) as error:
        WORKLOAD.check(values)
    assert words in str(error.value)
    assert "\n" not in str(error.value)


def test_by_default_everything_from_4_bytes_to_64_mib():
    params = WORKLOAD.check({})
    assert params.chosen == METHODS
    assert params.sizes == [4**power for power in range(1, 14)]


def test_methods_are_a_list_with_commas():
    assert WORKLOAD.check({"methods": " own , ring,own"}).chosen == ("own", "ring")


@settings(max_examples=50)
@given(st.tuples(st.integers(4, MOST), st.integers(4, MOST)))
def test_sizes_are_whole_numbers_from_the_smallest_to_the_largest(ends):
    low, high = min(ends), max(ends)
    sizes = WORKLOAD.check({"smallest": low, "largest": high}).sizes
    assert sizes == sorted(set(sizes))
    assert sizes[0] == low - low % 4 and sizes[-1] == high - high % 4
    assert all(size % 4 == 0 for size in sizes)


@pytest.mark.real
def test_describing_it_imports_no_numerical_library():
    program = (
        "import sys; from workshop.workloads.allreduce import WORKLOAD; WORKLOAD.check({}); "
        "print([name for name in ('numpy', 'mpi4py', 'tensorflow') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
