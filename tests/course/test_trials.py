"""Learners' functions on ranks that are threads: what would wait for ever ends, and says who stands where."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

from tests.support import until
from workshop.course import exercise_checks
from workshop.course.exercise_checks import CheckOutcome, Exercise, Hint, TooLong, limit, run_on_ranks
from workshop.course.simulated_ranks import rehearse
from workshop.course.trials import confirmed, rehearsed, worlds


def defined(code: str) -> Callable[..., Any]:
    return exercise_checks.answer(code, "f")


def test_collectives_of_objects_and_arrays() -> None:
    code = """
import numpy as np
def f(comm, mine):
    buffer = np.full(2, float(mine))
    comm.Allreduce(buffer.copy(), buffer)
    first = np.array([mine])
    comm.Bcast(first, root=1)
    return comm.allreduce(mine), comm.bcast(mine, root=2), comm.gather(mine), comm.allgather(mine), buffer[0], first[0]
"""
    found = rehearsed(defined(code), [(1,), (2,), (3,)])
    assert found.results == [
        (6, 3, [1, 2, 3], [1, 2, 3], 6.0, 2),
        (6, 3, None, [1, 2, 3], 6.0, 2),
        (6, 3, None, [1, 2, 3], 6.0, 2),
    ]
    assert found.calls[0][:3] == ["Allreduce", "Bcast from rank 1", "allreduce"]


@pytest.mark.parametrize(
    ("code", "said"),
    [
        (
            "def f(comm):\n    return comm.allreduce(1) if comm.rank == 0 else 0\n",
            "On 2 ranks with pears this never ends: rank 0 waits in allreduce, rank 1 has returned. A collective needs",
        ),
        (
            "def f(comm):\n    return comm.reduce(1) if comm.Get_rank() == 0 else comm.bcast(1)\n",
            "rank 0 waits in reduce with root 0, rank 1 waits in bcast from rank 0.",
        ),
        ("def f(comm):\n    return comm.bcast(1, root=comm.rank)\n", "rank 1 waits in bcast from rank 1"),
        ("def f(comm):\n    return comm.reduce(2) / 2\n", "None that comm.reduce gives to all ranks but one"),
        ("f = 5\n", "This should be a function, but it is 5"),
    ],
)
def test_what_would_wait_for_ever_is_told(code: str, said: str) -> None:
    with pytest.raises(Hint) as raised:
        rehearsed(defined(code), [(), ()], "with pears")
    assert said in str(raised.value)


def test_a_loop_without_end_is_ended_and_leaves_no_thread() -> None:
    before = threading.active_count()
    found = rehearse(defined("def f(comm):\n    while comm.rank:\n        pass\n    comm.Barrier()\n"), [(), ()], 0.3)
    assert "rank 1 has not come to an end within 0.3 s" in found.stuck
    _until_no_more_than(before)


def test_who_breaks_off_a_rehearsal_leaves_no_thread() -> None:
    before = threading.active_count()
    endless = defined("def f(comm):\n    while comm.rank:\n        pass\n    comm.Barrier()\n")
    with pytest.raises(TooLong), limit(0.3):
        rehearse(endless, [(), ()], 60)
    _until_no_more_than(before)


def _until_no_more_than(before: int) -> None:
    until(lambda: threading.active_count() <= before, 20, "the rehearsal's threads to end")


def test_names_of_the_cell_are_those_of_the_rehearsal() -> None:
    code = "from mpi4py import MPI\ncomm, rank = None, 9\ndef f(given):\n    return rank, MPI.COMM_WORLD.allreduce(1)\n"
    pytest.importorskip("mpi4py")
    assert rehearsed(defined(code), [(), (), ()]).results == [(0, 3), (1, 3), (2, 3)]


class Comm:
    """One of three ranks; what the others would say is known."""

    def __init__(self, *others: tuple[str, str]) -> None:
        self.others = list(others)
        self.asked = 0

    def Get_size(self) -> int:
        return 3

    def allgather(self, mine: tuple[str, str]) -> list[tuple[str, str]]:
        self.asked += 1
        return [mine, *self.others]


def test_ranks_that_are_there_are_rehearsed_as_well() -> None:
    assert worlds(Comm()) == [2, 3]


def test_what_another_rank_finds_ends_the_check_here() -> None:
    def check(comm: Any, given: Any) -> None:
        confirmed(comm, given, (), lambda answer: answer == 1)
        raise AssertionError("nobody goes on")

    right, wrong = ("right", ""), ("error", "It broke.")
    comm = Comm(right, wrong)
    assert run_on_ranks(Exercise("f", check, True), comm, lambda comm: 1) == CheckOutcome("error", "Rank 2: It broke.")
    assert comm.asked == 1, "who found it asks once, too"
    comm = Comm(right, right)
    found = run_on_ranks(Exercise("f", check, True), comm, lambda comm: 2)
    assert found.kind == "hint" and found.sentence.startswith("Rank 0: On the 3 ranks of this notebook something else")
    assert comm.asked == 1
