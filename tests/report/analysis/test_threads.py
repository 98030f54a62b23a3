"""What is said of threads: how many for how many cores, how many worked, and whether that is too many."""

from __future__ import annotations

from typing import Any

import pytest

from tests.report.analysis.cases import machine, metrics, rank_map, run
from workshop.report.analysis.threads import core_waits, crews, openmp_matters, openmp_why, sentences
from workshop.store.records import RunRecord

Census = dict[str, dict[str, Any]]


def kind(count: int, busy: int = 0, seconds: float = 0.0, waited: float | None = 0.0) -> dict[str, Any]:
    return {"count": count, "busy": busy, "seconds": seconds, "waited": waited}


def with_threads(*censuses: Census, over: float = 10.0, **changes: Any) -> RunRecord:
    return run(metrics=metrics(len(censuses), threads=list(censuses), threads_seconds=over), **changes)


HELPERS: Census = {"horovod": kind(1, 0, 0.2, 0.1), "zeromq": kind(6), "python": kind(5)}
RANK: Census = {"main": kind(1, 0, 0.2), "inter-op": kind(1, 1, 8.5, 0.5), "intra-op": kind(1)} | HELPERS


@pytest.mark.parametrize(
    ("core", "share"),
    [
        ({"worked": 3.0, "waited": 1.0}, {0: 0.25}),
        ({"worked": 3.0, "waited": 0.0}, {0: 0.0}),
        ({"worked": 0.0, "waited": 0.0}, {}),  # a container that hides them
        (None, {}),
    ],
)
def test_the_share_of_waiting_for_a_core_comes_from_each_rank(core: Any, share: dict[int, float]):
    placed = rank_map([0])
    placed["ranks"][0]["core"] = core
    assert core_waits(run(rank_map=placed)) == share


def test_in_a_training_the_threads_that_worked_tell_the_share_of_waiting_for_a_core():
    told = with_threads({"intra-op": kind(1, 1, 6.0, 2.0)} | HELPERS, RANK)
    assert core_waits(told) == {0: pytest.approx(0.25), 1: pytest.approx(0.5 / 9)}
    own = {"intra-op": kind(4, 4, 9.5, 20.0)}
    assert core_waits(with_threads(own, own)) == {}, "its own threads keep both cores"
    foreign = {"intra-op": kind(4, 4, 5.0, 20.0)}
    assert core_waits(with_threads(foreign, foreign))[0] == pytest.approx(0.8)


def test_one_worker_for_each_core_is_not_too_many():
    (crew,) = crews(with_threads(RANK, RANK))
    assert (crew.host, crew.ranks, crew.cores, crew.of_cores) == ("laptop", (0, 1), 2, 2)
    assert (crew.threads, crew.workers, crew.crowded) == (30, 2, False)
    assert crew.worked == pytest.approx(1.7)
    assert crew.ready == pytest.approx(1.8), "what helpers waited doesn't count"
    (said,) = sentences(with_threads(RANK, RANK))
    assert said == (
        "Ranks 0 and 1 together have 30 threads for 2 cores. 2 threads worked: 2 TensorFlow inter-op. That is not too "
        "many. The others slept nearly all of the time, which costs some memory only: 12 ZeroMQ, 10 Python, 2 main, 2 "
        "TensorFlow intra-op (Eigen) and 2 of other kinds."
    )


def test_more_workers_than_cores_are_too_many():
    """The naive start: a rank bound to one core of two, with 16 threads."""
    rank: Census = {"main": kind(1), "intra-op": kind(16, 16, 9.0, 81.0)}
    placed = with_threads(rank, rank_map=rank_map([0]), machine=machine(2))
    (crew,) = crews(placed)
    assert crew.crowded
    assert crew.delayed == pytest.approx(0.9)
    assert sentences(placed) == [
        "Rank 0 has 17 threads for 1 of 2 cores. 16 threads worked: 16 TensorFlow intra-op (Eigen). That is too many: "
        "9.0 were ready to work at a time, on average, and they waited 90 % of their time for a core. The others slept "
        "nearly all of the time, which costs some memory only: 1 main."
    ]


def test_why_openmp_has_no_effect():
    assert "TF_NUM_INTRAOP_THREADS" in openmp_why()
    told = with_threads(RANK, RANK)
    assert openmp_matters(told) is False
    assert openmp_why(told, "KMP_BLOCKTIME").startswith("KMP_BLOCKTIME is for OpenMP libraries")
    assert openmp_why(told).endswith("This run had 2 threads of that pool, and no OpenMP thread worked.")
    assert openmp_matters(run()) is None
    assert openmp_why(run()) == openmp_why()
