"""Which exchange a run gets: where Horovod is missing, or built with another MPI than the ranks have."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys

import pytest

from tests import mpis
from tests.support import limit, need
from workshop.core.placement import Placement
from workshop.mpi import horovod, openmpi, prefix, system

pytestmark = pytest.mark.real

# A process in which Horovod can't be found, as on a machine where it was never built.
WITHOUT = (
    "import sys; sys.modules['horovod'] = None; sys.argv[0] = 'engine'; from workshop.engine.__main__ import main; "
)
TRAIN = ["mnist", "--data", "digits", "--model", "dense", "--epochs", "1", "--images", "200", "--trace", "0"]


def engine(*words, start=(), environment=None):
    command = [*start, sys.executable, "-c", WITHOUT + "sys.exit(main())", *TRAIN, *words]
    return subprocess.run(
        command, env=os.environ | dict(environment or {}), capture_output=True, text=True, timeout=limit(120)
    )


def test_auto_is_mpi_and_needs_no_horovod():
    done = engine()
    assert done.returncode == 0, done.stderr
    metrics = json.loads(done.stdout)["metrics"]
    assert metrics["exchange"] == "mpi"
    assert metrics["exchange_why"] == "the usual one"


def test_horovod_where_it_is_not_built_is_refused_and_mpi_offered():
    done = engine("--exchange", "horovod")
    assert done.returncode == 2
    assert (
        "Horovod can't be used: it is not built on this machine; choose the exchange mpi (--exchange mpi)"
        in done.stderr
    )
    assert "Traceback" not in done.stderr


def test_ranks_of_another_open_mpi_exchange_without_horovod(workshop_home, monkeypatch):
    need(shutil.which("mpirun.openmpi"), "Debian's openmpi-bin")
    monkeypatch.setenv("WORKSHOP_MPI_LAUNCHER", "mpirun.openmpi")
    start = [system.launcher(), "-n", "2", *system.arguments(Placement(), 1)]

    def trained(*words):
        command = [*start, sys.executable, "-m", "workshop.engine", *TRAIN, *words]
        environment = os.environ | system.environment() | system.alone()
        return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=limit(240))

    done = trained()
    assert done.returncode == 0, done.stderr
    metrics = json.loads(done.stdout)["metrics"]
    assert metrics["exchange"] == "mpi" and len(set(metrics["weights"])) == 1
    if horovod.working() is not None:
        said = " ".join(trained("--exchange", "horovod").stderr.split())
        assert f"it is built with Open MPI v{openmpi.version()}, these ranks run under {system.version()}" in said


def test_ranks_of_mpich_exchange_without_horovod(workshop_home):
    mpis.use(workshop_home, "mpich")
    folder = prefix.installed()["mpich"]
    start = [prefix.launcher(folder), "-n", "2", sys.executable, "-m", "workshop.engine", *TRAIN]
    done = subprocess.run(
        start, env=os.environ | prefix.environment(folder), capture_output=True, text=True, timeout=limit(240)
    )
    assert done.returncode == 0, done.stderr
    metrics = json.loads(done.stdout)["metrics"]
    assert metrics["exchange"] == "mpi"
    assert len(set(metrics["weights"])) == 1
    assert metrics["spread_before"] > 0
