"""Fixtures for every test: state in a temporary folder, never the user's own, and workloads to probe with."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from hypothesis import settings
from xdist.scheduler import LoadScopeScheduling

from workshop import workloads
from workshop.session import processes
from workshop.store.store import Store

# pytest is a world of one. What it needs for that must not reach the mpiruns that tests start.
with pytest.MonkeyPatch.context() as _patch:
    _patch.setenv("OMPI_MCA_btl", "self")
    from mpi4py import MPI as _MPI

    _MPI.Get_version()
# What holds here, or in CI, but for its fifth of a second an example: a machine may have more to do.
settings.register_profile("patient", settings.default, deadline=None)
settings.load_profile("patient")
TESTS = Path(__file__).parent
PROBES = TESTS / "probes"
# What measures, or makes hosts, control groups and Slurm's nodes, has the machine's one of these: one after the other.
MACHINE = (
    "bench",
    "browser/test_federated.py",
    "browser/test_studies.py",
    "browser/test_tuning.py",
    "cli/test_demo.py",
    "cli/test_study",
    "cli/test_tune.py",
    "demo",
    "labs/test_notebooks.py",
    "session/test_hosts.py",
    "session/test_lookout.py",
    "session/test_out_of_memory.py",
    "session/test_preflight.py",
    "session/test_slurm_site",
    "study",
    "test_doctor.py",
    "test_memory.py",
    "web/test_runners.py",
)
# Folders whose files look at the same runs of ranks, which a process keeps (tests/ranks.py).
SHARING = ("workloads/openfl",)


def _together(file: str) -> str:
    """Which tests stay together when several processes share them out: those of a file below tests/, which share
    sessions, those of a folder that share runs, and those that need what the machine has once."""
    if file.startswith(MACHINE):
        return "machine"
    return next((folder for folder in SHARING if file.startswith(folder)), file)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What needs the machine takes longest, so it comes first."""
    items.sort(key=lambda item: _together(item.path.relative_to(TESTS).as_posix()) != "machine")


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> LoadScopeScheduling:
    """Shares tests out as `_together` says."""

    class Together(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return _together(nodeid.partition("::")[0].removeprefix(f"{TESTS.name}/"))

    return Together(config, log)


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
def probe_workloads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The workloads of tests/probes, registered as an installed package's would be, here and in every process."""
    installed = tmp_path / "site"
    described = installed / "probe_workloads-0.dist-info"
    described.mkdir(parents=True)
    (described / "METADATA").write_text("Metadata-Version: 2.1\nName: probe-workloads\nVersion: 0\n")
    (described / "entry_points.txt").write_text(
        "[workshop.workloads]\ntell = probe_workloads:TELL\nbreak = probe_workloads:BREAK\n"
        "work = probe_workloads:WORK\nexchange = probe_workloads:EXCHANGE\nfill = probe_workloads:FILL\n"
    )
    (installed / "probe_workloads.py").write_text((PROBES / "probe_workloads.py").read_text())
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, [str(installed), os.environ.get("PYTHONPATH")])))
    monkeypatch.syspath_prepend(str(installed))
    workloads.workloads.cache_clear()
    yield
    sys.modules.pop("probe_workloads", None)
    workloads.workloads.cache_clear()
