"""Other MPIs in prefixes of their own, for real: installed, started, and cleaned up after a failure."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.support import need
from workshop.errors import BadInput, WorkshopError
from workshop.mpi import prefix

SAY = """
import sys
from mpi4py import MPI
sys.stdout.write(f"{MPI.COMM_WORLD.size} {MPI.Get_library_version().split()[0]}\\n")
"""


@pytest.mark.mpi
def test_mpich_beside_open_mpi(workshop_home):
    assert prefix.installed() == {}
    try:
        folder = prefix.install("mpich")
    except WorkshopError as error:
        need(False, f"a network to install MPICH from: {error}")
    assert folder.is_relative_to(workshop_home)
    assert prefix.installed() == {"mpich": folder}
    assert [path.name for path in folder.parent.iterdir()] == ["mpich"]
    done = subprocess.run(
        [prefix.launcher(folder), "-n", "2", sys.executable, "-c", SAY],
        env=os.environ | prefix.environment(folder),
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.stdout.split() == ["2", "MPICH"] * 2, done.stderr

    before = folder.stat().st_mtime_ns
    assert prefix.install("mpich") == folder
    assert folder.stat().st_mtime_ns == before


def test_names_that_cannot_be_installed(workshop_home):
    with pytest.raises(BadInput, match="there are mpich and intelmpi"):
        prefix.install("lam")
    with pytest.raises(BadInput, match="already"):
        prefix.install("openmpi")


def test_a_failed_installation_says_why_and_leaves_nothing(workshop_home):
    folder = workshop_home / "cache" / "mpi" / "mpich"
    with pytest.raises(WorkshopError, match="could not be installed") as error:
        prefix.install_packages(folder, ["./no-such-package.whl"])
    assert "no-such-package" in str(error.value)
    assert "\n" not in str(error.value)
    assert list(folder.parent.iterdir()) == []


def test_an_mpi_that_does_not_start_ranks_is_removed(workshop_home):
    folder = workshop_home / "cache" / "mpi" / "mpich"
    folder.joinpath("bin").mkdir(parents=True)
    launcher = folder / "bin" / "mpiexec.hydra"
    launcher.write_text("#!/bin/sh\necho no fabric found >&2\nexit 7\n")
    launcher.chmod(0o755)
    with pytest.raises(WorkshopError, match="no fabric found"):
        prefix.install("mpich")
    assert prefix.installed() == {}


def test_a_place_that_cannot_be_written(workshop_home):
    workshop_home.mkdir()
    (workshop_home / "file").touch()
    with pytest.raises(WorkshopError, match="can't be written"):
        prefix.install_packages(workshop_home / "file" / "mpich", ["mpich"])
