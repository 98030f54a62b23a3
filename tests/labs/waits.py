"""Under mpirun: a function that is right in a rehearsal, and on real ranks fails on one while the other one waits."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from workshop.course import exercise_checks
from workshop.course.trials import confirmed, rehearsed

CODE = """
import threading


def total(comm):
    if threading.current_thread() is threading.main_thread() and comm.Get_rank() == 1:
        return 1 / 0
    return comm.allreduce(1)
"""


def check(comm: Any, given: Any) -> None:
    assert rehearsed(given, [(), ()]).results == [2, 2]
    confirmed(comm, given, (), lambda answer: answer == 2)


def main(output: str) -> None:
    from mpi4py import MPI

    comm = MPI.COMM_WORLD.Dup()

    def tell(outcome: exercise_checks.CheckOutcome) -> None:
        Path(output).write_text(json.dumps([comm.Get_rank(), outcome.kind, outcome.sentence]))
        print("told", flush=True)

    exercise_checks.run_on_ranks(
        exercise_checks.Exercise("total", check, True), comm, exercise_checks.answer(CODE, "total"), tell=tell
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
