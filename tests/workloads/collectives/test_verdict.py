"""What measured collectives say, and what their page shows, from figures that are known."""

from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st

from tests.report.analysis.cases import machine, rank_map, run
from workshop.report.verdict import verdict
from workshop.workloads.allreduce.verdict import AllReduceCurve
from workshop.workloads.collectives.panels import both_figures
from workshop.workloads.collectives.verdict import by_size

SIZES = [4 << power for power in range(19)]
STREAM = [1e-6 + size / 8e9 for size in SIZES]
LATENCY = [1e-6 + size / 4e9 for size in SIZES]


def measured(seconds: dict[str, list[float]], ranks: int = 2, **changes) -> dict[str, str]:
    metrics = {"sizes": SIZES, "seconds": seconds, "seconds_low": {}, "algorithms": {}} | changes
    known = {"machine": machine(ranks), "rank_map": rank_map(*([rank] for rank in range(ranks)))}
    placement = {"mpi": "openmpi", "ranks": ranks, "cores_per_rank": 1, "threads": None}
    return verdict(run(workload="collectives", params={}, metrics=metrics, placement=placement, **known), {})


def test_latency_of_small_and_bandwidth_of_large_messages():
    result = measured({"latency": LATENCY, "bandwidth": STREAM, "barrier": [2e-6]})
    assert result["verdict"] == (
        "Latency limits below 4 KiB, bandwidth above: 4 B take 1.0 µs, 1 MiB move at 7.94 GB/s."
    )


def test_one_rank_and_barriers():
    assert measured({"bcast": LATENCY}, ranks=1)["verdict"] == "One rank alone has nothing to exchange."
    result = measured({"barrier": [2e-6]})
    assert (result["verdict"], result["why"][:15]) == ("A barrier takes 2.0 µs.", "It has no data.")


def test_a_change_of_the_algorithm_is_named():
    chosen = {"bcast": [["binomial"]] * 12 + [["pipeline"]] * 7}
    assert (
        "Messages of bcast are as in binomial; pipeline from 16 KiB."
        in measured({"bcast": LATENCY}, algorithms=chosen)["why"]
    )


@given(
    st.lists(
        st.lists(st.sampled_from(["ring", "bruck", "pipeline", "linear", "knomial"]), unique=True),
        min_size=1,
        max_size=19,
    )
)
def test_groups_of_algorithms_are_named_once(chosen: list[list[str]]) -> None:
    text = by_size(SIZES, chosen)
    changes = sum(names != before for before, names in itertools.pairwise(chosen))
    assert text.count("; ") == text.count(" from ") == changes
    assert all(name in text for names in chosen for name in names[:3])


def test_bandwidth_is_drawn_of_many_messages_where_there_are_any():
    latency, stream, barrier = (
        AllReduceCurve(name, tuple(sizes), tuple(seconds), 4)
        for name, sizes, seconds in (
            ("latency", SIZES, LATENCY),
            ("bandwidth", SIZES, STREAM),
            ("barrier", [0], [1e-6]),
        )
    )
    times, rates = both_figures([latency, stream, barrier])
    assert [trace.name for trace in times.data] == ["latency"]
    assert [trace.name for trace in rates.data] == ["bandwidth"]
    assert list(rates.data[0].y) == [size / took for size, took in zip(SIZES, STREAM, strict=True)]
    assert [trace.name for trace in both_figures([latency])[1].data] == ["latency"]
