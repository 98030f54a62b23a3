"""The ranks of a session: at rest, and while one of them never comes."""

from __future__ import annotations

import json
from contextlib import suppress

import psutil
import pytest
from typer.testing import CliRunner

from tests.support import until
from workshop.cli.main import app
from workshop.core import processes
from workshop.core.errors import BadInput
from workshop.runtime import client
from workshop.store.store import Store
from workshop.workloads.hangs import examples
from workshop.workloads.hangs.sessions import watch_session

pytestmark = pytest.mark.real


def test_a_rank_of_a_run_that_never_comes_is_named(session) -> None:
    diagnosis, states = watch_session(session.now, after=1.0)
    assert diagnosis is None and [state.detail for state in states] == ["it waits for work"] * 2
    run = session.submit("break", how="hang")
    session.started(run, "before")
    until(lambda: watch_session(session.now, after=1.0)[0], 60, "a diagnosis")
    answer = CliRunner().invoke(app, ["watch", "--session", "test", "--after", "1", "--json"])
    (found,) = json.loads(answer.stdout)["diagnoses"]
    assert answer.exit_code == 1 and found["hang"]
    client.cancel(session.store, run.id)


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


def test_a_session_that_is_not_up_is_refused(workshop_home, store: Store) -> None:
    from tests.server import seed

    with pytest.raises(BadInput, match="has no ranks on this machine"):
        watch_session(seed.session(store), after=1.0)
