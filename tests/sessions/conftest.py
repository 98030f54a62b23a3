"""A session of two ranks for the tests of a file; a real Slurm for the tests of all files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import leftovers, probes
from tests.live_session import Session
from tests.notebook.sessions import state
from tests.slurm import Slurm, slurm
from tests.support import starts_processes, until
from workshop.core.placement import Placement
from workshop.sessions import lifecycle
from workshop.store.store import Store


@pytest.fixture(scope="module")
@starts_processes
def home(tmp_path_factory: pytest.TempPathFactory, kernels: Path) -> Iterator[Path]:
    """A state folder for all tests of a file that share a session."""
    folder = tmp_path_factory.mktemp("sessions")
    with state(folder) as made, probes(folder):
        (made / "cache").mkdir(parents=True)
        (made / "cache" / "numba").symlink_to(kernels)
        yield made
        with Store.open() as store:
            if any(known.up for known in store.sessions()):
                lifecycle.stop_session(store, "test")
        until(lambda: not leftovers(made), 20, "the session's processes to end")


@pytest.fixture
@starts_processes
def session(home: Path) -> Iterator[Session]:
    """The session of two ranks of a file; it is started again where a test has ended it."""
    with Store.open() as store:
        until(lambda: all(known.state == "ready" for known in store.sessions() if known.up), 60, "the last run's end")
        found = next((known for known in store.sessions() if known.name == "test" and known.state == "ready"), None)
        if found is None:
            found = lifecycle.wait_ready(store, *lifecycle.start_session(store, "test", Placement(ranks=2)))
        yield Session(store, found, home)


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
