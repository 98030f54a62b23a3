"""Sizes, methods and operations of a run, and the tables of their times."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from workshop.core.errors import BadInput
from workshop.workloads.allreduce import COLLECTIVES, METHODS, PAIRS, WORKLOAD, check_ranks
from workshop.workloads.allreduce.operations import osu_table

MOST = 64 << 20


def test_by_default_everything_from_4_bytes_to_64_mib():
    params = WORKLOAD.check({})
    assert params.chosen(1) == METHODS
    assert params.sizes == [4**power for power in range(1, 14)]


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
