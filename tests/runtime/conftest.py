"""A session of two ranks for one test; a real Slurm for the tests of a file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.sessions import Session
from tests.slurm import Slurm, slurm
from tests.support import limit, starts_processes, until
from workshop.core.placement import Placement
from workshop.runtime import lifecycle
from workshop.store.store import Store


@pytest.fixture
@starts_processes
def session(workshop_home: Path, probe_workloads: None) -> Iterator[Session]:
    store = Store.open()
    record, conductor = lifecycle.start_session(store, "test", Placement(ranks=2))
    ready = lifecycle.wait_ready(store, record, conductor)
    yield Session(store, ready, workshop_home)
    lifecycle.stop_session(store, "test")
    conductor.wait(limit(10))
    store.close()


@pytest.fixture(scope="package")
@starts_processes
def slurm_up() -> Iterator[Slurm]:
    with slurm() as server:
        yield server


@pytest.fixture
def cluster(slurm_up: Slurm, monkeypatch: pytest.MonkeyPatch) -> Iterator[Slurm]:
    """The Slurm, found by all commands; a test has to leave it without jobs."""
    for name, value in slurm_up.environment.items():
        monkeypatch.setenv(name, value)
    yield slurm_up
    left = slurm_up.jobs()
    for job in left:
        slurm_up.ask("scancel", job)
    until(slurm_up.idle, 20, "Slurm to be idle again")
    assert not left, f"jobs were left behind: {left}"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A session's own."""
    made = tmp_path / "1"
    made.mkdir()
    return made
