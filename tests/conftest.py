"""Fixtures for every test: state in a temporary folder, never the user's own, and workloads to probe with."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil
import pytest
from hypothesis import HealthCheck, settings

from tests import watchdog
from tests.support import limit
from workshop import registry
from workshop.core import processes
from workshop.store.store import Store

# pytest is a world of one. What it needs for that must not reach the mpiruns that tests start.
with pytest.MonkeyPatch.context() as _patch:
    _patch.setenv("OMPI_MCA_btl", "self")
    from mpi4py import MPI as _MPI

    _MPI.Get_version()
# An example may take as long as it takes. In CI, Hypothesis draws the same examples in every run: a fault that it finds
# by chance would refuse a change that has nothing to do with it. Elsewhere it draws new ones.
slow = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow], "print_blob": True}
settings.register_profile("laptop", settings.get_profile("default"), **slow)
settings.register_profile("ci", settings.get_profile("default"), **slow, derandomize=True, database=None)
settings.load_profile("ci" if os.environ.get("CI") else "laptop")
os.environ.setdefault("PYTEST_TIMEOUT", str(limit(300)))  # of one test

pytest_plugins = ["tests.tiers", "tests.evidence"]
TESTS = Path(__file__).parent
PROBES = TESTS / "probes"


def pytest_configure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput"):  # the run itself, not one of its workers
        watchdog.start()


@pytest.fixture(scope="session")
def kernels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What ranks have compiled, for all tests of this process: it takes each of them two seconds."""
    return tmp_path_factory.mktemp("kernels")


@pytest.fixture
def workshop_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kernels: Path) -> Iterator[Path]:
    """A state folder of the test's own; processes that the test starts inherit it, and none may outlive the test."""
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    (home / "cache").mkdir()
    (home / "cache" / "numba").symlink_to(kernels)
    monkeypatch.setenv("WORKSHOP_HOME", str(home))
    monkeypatch.delenv("WORKSHOP_DATABASE_URL", raising=False)
    monkeypatch.delenv("WORKSHOP_DATA", raising=False)
    monkeypatch.setenv("WORKSHOP_OFFLINE", "1")
    monkeypatch.setenv("KERAS_HOME", str(tmp_path / "keras"))
    yield home
    left = leftovers(home)
    for process in left:
        with suppress(psutil.Error):  # it has ended just now
            process.kill()
    assert not left, f"processes were left behind: {left}"


@pytest.fixture
def store(workshop_home: Path) -> Iterator[Store]:
    """The store of that folder."""
    with Store.open() as opened:
        yield opened


def leftovers(home: Path) -> list[psutil.Process]:
    """Processes that work with this state folder, this one left out."""
    found = []
    for process in psutil.process_iter():
        try:
            if process.pid != os.getpid() and process.environ().get("WORKSHOP_HOME") == str(home):
                found.append(process)
        except (psutil.Error, OSError):
            continue
    return [process for process in found if processes.alive(process)]


@pytest.fixture
def probe_workloads(tmp_path: Path) -> Iterator[None]:
    with probes(tmp_path):
        yield


@contextmanager
def probes(folder: Path) -> Iterator[None]:
    """The workloads of tests/probes, registered as an installed package's would be, here and in every process."""
    installed = folder / "site"
    described = installed / "probe_workloads-0.dist-info"
    described.mkdir(parents=True)
    (described / "METADATA").write_text("Metadata-Version: 2.1\nName: probe-workloads\nVersion: 0\n")
    (described / "entry_points.txt").write_text("[workshop.extensions]\nprobes = probe_workloads:EXTENSION\n")
    (installed / "probe_workloads.py").write_text((PROBES / "probe_workloads.py").read_text())
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", os.pathsep.join(filter(None, [str(installed), os.environ.get("PYTHONPATH")])))
        patch.syspath_prepend(str(installed))
        registry.forget()
        yield
    sys.modules.pop("probe_workloads", None)
    registry.forget()
