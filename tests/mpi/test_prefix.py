"""Other MPIs in prefixes of their own, for real: installed, started, and cleaned up after a failure."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tests import mpis
from tests.support import limit, need
from workshop import mpi
from workshop.cli.main import app
from workshop.core.errors import BadInput, WorkshopError
from workshop.mpi import prefix
from workshop.mpi.implementations import implementation

SAY = """
import sys
from mpi4py import MPI
sys.stdout.write(f"{MPI.COMM_WORLD.size} {MPI.Get_library_version().split()[0]}\\n")
"""


@pytest.mark.real
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
        timeout=limit(60),
    )
    assert done.stdout.split() == ["2", "MPICH"] * 2, done.stderr

    before = folder.stat().st_mtime_ns
    assert prefix.install("mpich") == folder
    assert folder.stat().st_mtime_ns == before


def test_names_that_cannot_be_installed(workshop_home):
    for name, says in (("lam", "nothing called 'lam' to install"), ("openmpi", "openmpi is there already")):
        done = CliRunner().invoke(app, ["mpi", "install", name])
        assert isinstance(done.exception, BadInput)
        assert says in str(done.exception)
        assert "mpich" in str(done.exception) and "intelmpi" in str(done.exception)


@pytest.mark.real
def test_what_is_there_is_listed_with_its_version(workshop_home):
    mpis.use(workshop_home, "intelmpi")
    assert implementation("impi").name == "intelmpi"
    assert prefix.install("intelmpi") == prefix.installed()["intelmpi"]
    found = mpi.mpis()
    assert list(found) == ["openmpi", "mpich", "intelmpi", "system"]
    for name, package in (("openmpi", "openmpi"), ("intelmpi", None)):
        wanted = metadata.version(package) if package else prefix.PACKAGES[name].partition("==")[2]
        assert found[name]["version"] == wanted
        assert Path(found[name]["where"]).exists()
    assert found["mpich"]["where"] is None
    assert "`workshop mpi install mpich`" in found["mpich"]["note"]


@pytest.mark.real
def test_a_launcher_of_another_mpi_does_not_start_ranks(workshop_home):
    mpis.use(workshop_home, "mpich", "intelmpi")
    folders = prefix.installed()
    alone = {"OMPI_MCA_btl": "self"}  # a world of one that is ended leaves no shared memory then
    words = prefix.starts([prefix.launcher(folders["mpich"])], alone)
    assert words is not None and "AssertionError" in words, "two worlds of one"


@pytest.mark.real
def test_a_failed_installation_says_why_and_leaves_nothing(workshop_home):
    folder = workshop_home / "cache" / "mpi" / "mpich"
    with pytest.raises(WorkshopError, match="can't be installed") as error:
        prefix.install_packages(folder, ["./no-such-package.whl"])
    assert "no-such-package" in str(error.value)
    assert "\n" not in str(error.value)
    assert list(folder.parent.iterdir()) == []


@pytest.mark.real
def test_an_mpi_that_does_not_start_ranks_is_removed(workshop_home, monkeypatch):
    monkeypatch.setitem(prefix.PACKAGES, "mpich", "colorama")  # any package without an MPI
    with pytest.raises(WorkshopError, match="mpich is installed but doesn't start two ranks; it was removed"):
        prefix.install("mpich")
    assert prefix.installed() == {}


@pytest.mark.real
def test_an_mpi_that_was_there_is_left_there(workshop_home):
    folder = workshop_home / "cache" / "mpi" / "mpich"
    folder.joinpath("bin").mkdir(parents=True)
    launcher = folder / "bin" / "mpiexec.hydra"
    launcher.write_text("#!/bin/sh\necho no fabric found >&2\nexit 7\n")
    launcher.chmod(0o755)
    with pytest.raises(WorkshopError, match="no fabric found"):
        prefix.install("mpich")
    assert prefix.installed() == {"mpich": folder}, "a session may use it"


def test_a_place_that_cannot_be_written(workshop_home):
    (workshop_home / "file").touch()
    with pytest.raises(WorkshopError, match="can't be written"):
        prefix.install_packages(workshop_home / "file" / "mpich", ["mpich"])
