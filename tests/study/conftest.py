"""Studies measure: each test has a measuring lock of its own, so that others' measurements don't hold it up."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.live_session import Session
from tests.support import limit, starts_processes
from tests.watchdog import temporary_folder
from workshop.cli.main import run
from workshop.core.placement import Placement
from workshop.sessions import lifecycle
from workshop.store.store import Store


class Ended(NamedTuple):
    """How a command has ended, and what it wrote."""

    code: int
    out: str
    err: str


Command = Callable[..., Ended]


@pytest.fixture
@starts_processes
def session(workshop_home: Path, probe_workloads: None) -> Iterator[Session]:
    """A session of two ranks for one test, in a store of its own: studies and runs are numbered from 1."""
    with Store.open() as store:
        record, conductor = lifecycle.start_session(store, "test", Placement(ranks=2))
        yield Session(store, lifecycle.wait_ready(store, record, conductor), workshop_home)
        lifecycle.stop_session(store, "test")
        conductor.wait(limit(10))


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Command:
    """Run `workshop` with these words in this process, on a terminal of 80 columns."""
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("NO_COLOR", "1")
    return lambda *words: Ended(run(list(words)), *capsys.readouterr())


@pytest.fixture(autouse=True)
def own_lock(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    folder = temporary_folder("study")  # a short name: Open MPI's sockets lie below it
    monkeypatch.setenv("TMPDIR", str(folder))
    yield
    shutil.rmtree(folder, ignore_errors=True)
