"""Which sizes and methods there are, what is refused, and that describing the workload costs nothing."""

from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from workshop.core.errors import BadInput
from workshop.workloads.allreduce import COLLECTIVES, METHODS, PAIRS, WORKLOAD, check_ranks
from workshop.workloads.allreduce.table import osu_table

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
        ({"operation": "gossip"}, "operation"),
        ({"operation": "bcast", "smallest": 2 << 20}, "which is more than largest, 1048576"),
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
    assert params.chosen(1) == METHODS
    assert params.sizes == [4**power for power in range(1, 14)]


def test_methods_are_a_list_with_commas():
    assert WORKLOAD.check({"methods": " own , ring,own"}).chosen(2) == ("own", "ring")


def test_one_rank_has_nobody_to_send_to():
    with pytest.raises(BadInput, match="The operation latency needs two ranks, and this run has 1"):
        check_ranks(WORKLOAD.check({"operation": "latency"}), {}, 1)
    params = WORKLOAD.check({"operation": "all"})
    check_ranks(params, {}, 1)
    assert params.chosen(1) == COLLECTIVES
    assert params.chosen(2) == (*PAIRS, *COLLECTIVES)
    assert params.sizes[-1] == 1 << 20


def test_tables_have_osu_s_form():
    assert osu_table("bandwidth", [4, 1 << 20], [[1e-6, 0, 0, 1, 100], [1e-4, 0, 0, 1, 10]]).splitlines() == [
        "# bandwidth",
        "# Size        Bandwidth (MB/s)      Iterations",
        "4                         4.00             100",
        "1048576               10485.76              10",
    ]
    (_, heading, line) = osu_table("bcast", [8], [[2e-6, 1e-6, 3e-6, 1, 5]]).splitlines()
    assert heading.split("  ")[0] == "# Size" and heading.count("Latency(us)") == 3
    assert line.split() == ["8", "2.00", "1.00", "3.00", "5"]


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
