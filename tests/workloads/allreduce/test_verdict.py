"""What measured all-reduces say, from figures that are known."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.report.analysis.cases import machine, rank_map, run
from workshop.report.verdict import verdict
from workshop.workloads.allreduce.curves import AllReduceCurve, curves, message

SIZES = [4**power for power in range(1, 14)]


def times(latency: float, bandwidth: float) -> list[float]:
    """Hockney's model: a latency, and a time for each byte."""
    return [latency + size / bandwidth for size in SIZES]


def measured(ranks: int = 2, methods: dict[str, list[float]] | None = None, cores: int | None = None, **changes):
    told = {
        "sizes": SIZES,
        "seconds": methods if methods is not None else {"own": times(1e-5, 4e9), "ring": times(4e-5, 3e9)},
        "left_out": {},
        "memory_bandwidth": 8e9,
        "hosts": 1,
        "stopped": False,
    }
    cores = cores or ranks
    where = rank_map(*([rank] if cores >= ranks else list(range(cores)) for rank in range(ranks)))
    placement = {"mpi": changes.pop("mpi", "openmpi"), "ranks": ranks, "cores_per_rank": 1, "threads": None}
    known = {"machine": machine(cores), "rank_map": where, "placement": placement}
    return verdict(run(workload="allreduce", params={}, metrics=told | changes, **known), {})


def test_latency_below_and_bandwidth_above():
    said = measured()
    assert (
        said["verdict"] == "Latency-bound below 64 KiB, bandwidth-bound above: 4 B take 10 µs, 64 MiB move at 4 GB/s."
    )
    assert "50 % of what a rank copies in memory, measured by itself" in said["why"]
    assert (
        "The ring in Python is 4 times as slow for the smallest message and 1.33 times as slow for the largest"
        in said["why"]
    )
    assert "64 KiB or more" in said["next"]


@pytest.mark.parametrize(("spread", "disturbed"), [([1.1] * 13, False), ([66.0] + [1.1] * 12, True), ([], False)])
def test_a_disturbed_measurement_says_so_first(spread, disturbed):
    said = measured(spread={"own": spread})
    assert said["verdict"].startswith("The measurement was disturbed") == disturbed
    assert "4 B take 10 µs" in said["verdict"] + said["why"]
    if disturbed:
        assert said["verdict"].endswith("the same message took up to 66 times as long.")
        assert "With the MPI's own, 4 B took 10 µs in its quicker repeats, and 660 µs at other times." in said["why"]


def test_one_rank_has_nothing_to_exchange():
    said = measured(ranks=1)
    assert said["verdict"] == "One rank alone has nothing to exchange."
    assert "--ranks 2" in said["next"]


def test_polling_ranks_on_too_few_cores_come_first_and_the_figures_stand_behind():
    said = measured(ranks=4, cores=2, mpi="mpich", methods={"own": times(2.8e-3, 1e9)})
    assert said["verdict"] == "Ranks that wait keep their cores from those that work."
    assert "4 B take 2.8 ms" in said["why"]


def test_operations_between_two_ranks_and_barriers():
    said = measured(methods={"latency": times(1e-5, 4e9), "bandwidth": times(1e-6, 8e9), "barrier": [2e-6]})
    assert (
        said["verdict"] == "Latency-bound below 64 KiB, bandwidth-bound above: 4 B take 10 µs, 64 MiB move at 8 GB/s."
    )
    assert "bus bandwidth" not in said["why"] and "times as" not in said["why"]
    said = measured(methods={"barrier": [2e-6]})
    assert (said["verdict"], said["why"][:15]) == ("A barrier takes 2 µs.", "It has no data.")


def test_a_change_of_the_algorithm_is_named():
    chosen = {"own": [["binomial"]] * 6 + [["pipeline"]] * 7}
    assert "Messages of the MPI's own are as in binomial; pipeline from 16 KiB." in measured(algorithms=chosen)["why"]


def test_a_run_that_was_stopped_says_what_it_has():
    (curve,) = curves({"sizes": SIZES, "seconds": {"ring": [1e-5, 1e-5]}}, 2)
    assert (curve.sizes, curve.half_bandwidth_size) == ((4, 16), 16)


@settings(max_examples=100)
@given(st.lists(st.floats(1e-7, 1e3), min_size=1, max_size=13), st.integers(1, 64))
def test_bandwidths_are_those_of_nccl_tests(seconds, ranks):
    curve = AllReduceCurve("own", tuple(SIZES[: len(seconds)]), tuple(seconds), ranks)
    for size, took, algorithm, bus in zip(curve.sizes, seconds, curve.algorithm, curve.bus, strict=True):
        assert algorithm == size / took
        assert bus == pytest.approx(algorithm * 2 * (ranks - 1) / ranks)
    assert curve.half_bandwidth_size in curve.sizes


@pytest.mark.parametrize(("size", "words"), [(1536, "1.5 KiB"), (64 << 20, "64 MiB")])
def test_messages_in_powers_of_two(size, words):
    assert message(size) == words
