"""Sessions on MPICH and Intel MPI: the same results, the placement that was asked for, and deaths with a name."""

from __future__ import annotations

import os
import shutil
import signal
from pathlib import Path

import numpy as np
import pytest

from tests import mpis
from tests.live_session import Session
from tests.support import need, until
from workshop.core import config, processes, topology
from workshop.core.errors import BadInput
from workshop.core.placement import Placement
from workshop.sessions import leftovers

pytestmark = pytest.mark.real
BLOBS = {"data": "blobs", "points": 30_000, "features": 4, "clusters": 5, "backend": "numpy"}
CORES = topology.allowed_cores(topology.machine())


def on(mpi: str, ranks: int = 2, **values: object) -> Placement:
    return Placement(mpi=mpi, ranks=ranks, **values)


def units_of(run) -> list[set[int]]:
    return [set(rank["units"]) for rank in run.rank_map["ranks"]]


def test_runs_on_one_mpi_after_another(session: Session) -> None:
    need(CORES >= 2, "this machine has one core")
    mpis.use(session.home, "mpich", "intelmpi")
    expected = session.run("kmeans", on("openmpi"), **BLOBS)
    assert expected.status == "completed", expected.error
    for mpi in ("mpich", "openmpi", "intelmpi", "mpich"):
        run = session.run("kmeans", on(mpi), **BLOBS)
        assert run.status == "completed", run.error
        assert run.metrics["inertia"] == pytest.approx(expected.metrics["inertia"], rel=1e-9)
        np.testing.assert_allclose(run.metrics["centroids"], expected.metrics["centroids"], rtol=1e-6)
        assert run.rank_map["measured"]
        first, second = units_of(run)
        assert len(first) == len(second) == len(topology.machine()["units"]) // CORES and not first & second


@pytest.mark.parametrize("family", ["openmpi", "mpich"])
def test_the_centre_s_own_mpi(session: Session, family: str) -> None:
    """Debian's, of other versions than ours: one has the name of our library, the other is loaded by another name."""
    need(CORES >= 2, "this machine has one core")
    need(shutil.which(f"mpirun.{family}"), f"Debian's {family} (openmpi-bin, mpich)")
    expected = session.run("kmeans", on("openmpi"), **BLOBS)
    profile = session.home / "site.yaml"
    profile.write_text(f"mpi: {{launcher: mpirun.{family}}}\n")
    try:
        run = session.run("kmeans", on("system", bind_to="core"), **BLOBS)
        assert run.status == "completed", run.error
        assert run.metrics["inertia"] == pytest.approx(expected.metrics["inertia"], rel=1e-9)
        first, second = units_of(run)
        assert run.rank_map["measured"] and first and second and not first & second
        lost = session.submit("break", on("system"), rank=1, how="kill")
        ended = session.wait(lost)
        assert (ended.status, ended.error["type"], ended.error["rank"]) == ("failed", "RankDied", 1), ended.error
    finally:
        profile.unlink()


@pytest.mark.parametrize("mpi", [pytest.param("mpich", marks=pytest.mark.exhaustive), "intelmpi"])
def test_what_was_asked_for_is_what_is_measured(session: Session, mpi: str) -> None:
    need(CORES >= 2, "this machine has one core")
    mpis.use(session.home, mpi)
    everything = set(os.sched_getaffinity(0))
    unbound = session.run("tell", on(mpi, CORES + 1), events=1)
    assert unbound.status == "completed", unbound.error
    assert units_of(unbound) == [everything] * (CORES + 1)
    wide = session.run("tell", on(mpi, 1, cores_per_rank=2), events=1)
    assert wide.status == "completed", wide.error
    assert wide.metrics["threads"] == "2"
    assert [len(rank["cores"]) for rank in wide.rank_map["ranks"]] == [2]
    with pytest.raises(BadInput, match="no words for 2 ranks per package"):
        session.submit("tell", on(mpi, map_by="package", per_resource=2))


@pytest.mark.parametrize("mpi", ["mpich", pytest.param("intelmpi", marks=pytest.mark.exhaustive)])
def test_kill_9_of_a_rank_names_it(session: Session, mpi: str) -> None:
    mpis.use(session.home, mpi)
    run = session.submit("tell", on(mpi), events=10_000, every=0.02)
    session.started(run)
    made = session.segments()
    os.kill(session.store.run(run.id).rank_map["ranks"][1]["pid"], signal.SIGKILL)
    ended = session.wait(run, 20)
    assert (ended.status, ended.error["type"], ended.error["rank"]) == ("failed", "RankDied", 1)
    assert "SIGKILL" in ended.error["message"]
    following = session.run("tell", on(mpi), events=1)
    assert following.status == "completed", following.error
    jobs = [segment.name.rpartition("_")[0] for segment in made]
    left = [path for job in jobs for path in Path("/dev/shm").glob(f"{job}_*")]
    assert not left, "shared memory of the dead is removed"

    os.kill(session.now.conductor_pid, signal.SIGKILL)
    tag = processes.session_tag(session.record.id)
    until(lambda: not processes.tagged(processes.TAG, tag), 30, "launcher and ranks to end without their conductor")
    leftovers.remove(config.session_folder(session.record.id))  # as the session's next start does
