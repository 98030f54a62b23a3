"""Sizes and bad input of the workload that measures collectives."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workshop.core.errors import BadInput
from workshop.workloads.collectives import COLLECTIVES, PAIRS, WORKLOAD, check_ranks
from workshop.workloads.collectives.table import osu_table


@given(st.integers(4, 1 << 30), st.integers(4, 1 << 30))
def test_sizes_are_whole_floats_from_the_smallest_to_the_largest(first: int, second: int) -> None:
    smallest, largest = sorted((first, second))
    sizes = WORKLOAD.check({"smallest": smallest, "largest": largest}).sizes
    assert sizes[0] == smallest - smallest % 4 and sizes[-1] == largest - largest % 4
    assert all(size % 4 == 0 for size in sizes) and sizes == sorted(set(sizes))
    assert all(after == 2 * before for before, after in itertools.pairwise(sizes[:-1]))


@pytest.mark.parametrize(
    "values, words",
    [
        ({"operation": "gossip"}, "operation"),
        ({"smallest": 3}, "smallest"),
        ({"largest": 1 << 40}, "largest"),
        ({"smallest": 64, "largest": 32}, "smallest is 64, which is more than largest, 32"),
        ({"iterations": 0}, "iterations"),
    ],
)
def test_bad_input_is_one_sentence(values: dict, words: str) -> None:
    with pytest.raises(BadInput) as error:
        WORKLOAD.check(values)
    assert words in str(error.value) and "\n" not in str(error.value)


def test_one_rank_has_nobody_to_send_to() -> None:
    with pytest.raises(BadInput, match="The operation latency needs two ranks, and this run has 1"):
        check_ranks(WORKLOAD.check({"operation": "latency"}), {}, 1)
    params = WORKLOAD.check({})
    check_ranks(params, {}, 1)
    assert params.operations_on(1) == [*COLLECTIVES]
    assert params.operations_on(2) == [*PAIRS, *COLLECTIVES]


def test_tables_have_osu_s_form() -> None:
    assert osu_table("bandwidth", [4, 1 << 20], [[1e-6, 0, 0, 100], [1e-4, 0, 0, 10]]).splitlines() == [
        "# bandwidth",
        "# Size        Bandwidth (MB/s)      Iterations",
        "4                         4.00             100",
        "1048576               10485.76              10",
    ]
    (_, heading, line) = osu_table("bcast", [8], [[2e-6, 1e-6, 3e-6, 5]]).splitlines()
    assert heading.split("  ")[0] == "# Size" and heading.count("Latency(us)") == 3
    assert line.split() == ["8", "2.00", "1.00", "3.00", "5"]
