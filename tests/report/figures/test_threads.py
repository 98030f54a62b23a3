"""Threads by kind against cores."""

from __future__ import annotations

from tests.report.analysis.test_threads import RANK, kind
from workshop.report.panels.run_metrics import CORES, GROUPS, REST, rank_threads


def test_two_bars_for_each_rank_and_its_cores():
    drawn = rank_threads([RANK, RANK | {"openmp": kind(2), "blas": kind(3)}], [1, 2])
    by_name = {trace.name: trace for trace in drawn.data}
    rows = ["rank 0", "rank 0, worked", "rank 1", "rank 1, worked"]
    assert list(by_name["inter-op"].y) == rows
    assert list(by_name["inter-op"].x) == [1, 1, 1, 1]
    assert list(by_name["intra-op"].x) == [1, 0, 1, 0]
    assert list(by_name["OpenMP, BLAS"].x) == [0, 0, 5, 0]
    assert list(by_name[REST].x) == [11, 0, 11, 0]
    assert list(by_name[CORES].x) == [1, 1, 2, 2]
    assert "MPI" not in by_name, "there is none"
    drawn_bars = sum(sum(trace.x) for name, trace in by_name.items() if name in {*GROUPS, REST})
    assert drawn_bars == 2 * 15 + 5 + 2, "every thread is in one group"
    assert drawn.layout.xaxis.rangemode == "tozero"


def test_kinds_of_a_later_version_are_drawn_as_others():
    by_name = {trace.name: trace for trace in rank_threads([{"gpu": kind(3, 2)}]).data}
    assert list(by_name) == [REST]
    assert list(by_name[REST].x) == [3, 2]


def test_no_threads_told_says_so():
    assert rank_threads([]).layout.annotations[0].text == "No rank has told what threads it has"
