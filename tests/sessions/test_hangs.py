"""A program that hangs, as a run of a session."""

from __future__ import annotations

from contextlib import suppress

import psutil
import pytest

from tests.support import until
from workshop.core import processes
from workshop.sessions import client
from workshop.workloads.hangs import examples

pytestmark = pytest.mark.real


def test_a_cancelled_run_ends_its_program(session) -> None:
    run = session.submit("hang", example="ring-of-sends", after=10)

    def programs() -> list[psutil.Process]:
        """The processes that name the program: `workshop watch`, mpirun and all ranks; empty before all are there."""
        started = []
        for process in psutil.Process(session.now.conductor_pid).children(recursive=True):
            with suppress(psutil.Error):
                started += [process] if process.cmdline()[-1:] and "ring-of-sends.py" in process.cmdline()[-1] else []
        return started if len(started) >= examples.example("ring-of-sends").size + 2 else []

    started = until(programs, 60, "the ranks of the program")
    client.cancel(session.store, run.id)
    assert session.wait(run).status == "cancelled"
    until(lambda: not any(map(processes.alive, started)), 20, "the end of all processes")
