"""What a regression says of itself: its verdict, and the panel beside the published fits."""

from __future__ import annotations

import pytest

from tests.report.analysis.cases import machine, rank_map, run
from workshop.report.verdict import verdict
from workshop.workloads.regression.report import PUBLISHED, compared

METRICS = {
    "rows": 1_000_000,
    "features": 20,
    "backend": "own",
    "rows_per_second": 20_000_000,
    "bytes_exchanged": 2200,
    "bytes_kmeans": 1696,
    "bytes_data": 168_000_000,
    "seconds": {"fit": 0.05},
}


def ended(**changes):
    return run(
        workload="regression",
        params={},
        metrics=METRICS | changes,
        machine=machine(2),
        rank_map=rank_map([0], [1]),
        placement={"mpi": "openmpi", "ranks": 2, "cores_per_rank": 1, "threads": None},
    )


def test_the_verdict_has_the_rate_the_messages_and_the_published_fits():
    words = verdict(ended(), {})
    assert words["verdict"] == "20 M rows/s: 1 M rows (168 MB) fitted in 50 ms."
    assert "2.2 kB in a fit (2 messages), as many for any number of rows" in words["why"]
    assert "k-means with 10 clusters would exchange 1.7 kB in each iteration" in words["why"]
    assert "68.66 GB in less than 48 ms (1.43 TB/s) and 2.15 TB in 1.18 s" in words["why"]
    assert "--ranks 1" in words["next"]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"difference": 3e-12}, "Coefficients are the same as scikit-learn's (relative difference 3·10⁻¹²)"),
        ({"difference": 0.1}, "not the same as scikit-learn's"),
    ],
)
def test_the_verdict_says_what_matters(changes, words):
    assert words in verdict(ended(**changes), {})["why"]


def test_the_panel_shows_the_fit_beside_the_published_ones():
    class Ended:
        run = ended()

    (card,) = compared(Ended())
    table, cited = card.parts
    assert [row[0] for row in table["rows"]] == ["this run", *["daal4py on 32 nodes"] * len(PUBLISHED)]
    assert table["rows"][0][1:] == ["168 MB in 50 ms", "3.36 GB/s"]
    assert "Distributed DL/ML Solutions" in str(cited)
    Ended.run = run(workload="regression", params={}, metrics={})
    assert compared(Ended()) == []
