"""The centre's own MPI: Debian's Open MPI and MPICH, of other versions than the workshop's; what keeps ranks from
starting with one; and what its module says where nobody can ask a mapper."""

from __future__ import annotations

import os
import re
import shutil
import sys
from pathlib import Path

import pytest

from tests import mpis
from tests.mpi.ranks import kill, report
from tests.support import need
from workshop import mpi
from workshop.core import machines, topology
from workshop.core.errors import BadInput
from workshop.core.placement import Placement, hosts_from
from workshop.mpi import command_lines, mapper, system

pytestmark = pytest.mark.real
FAMILIES = {"openmpi": ("Open MPI", "libmpi.so.40"), "mpich": ("MPICH", "libmpich.so.12")}
CORES = topology.allowed_cores(topology.machine())


def debian(family: str) -> str:
    """The path of Debian's launcher."""
    program = shutil.which(f"mpirun.{family}")
    need(program is not None, f"Debian's {family} (openmpi-bin, mpich)")
    return str(program)


def only(folder: Path, family: str) -> str:
    """Debian's launcher as the mpirun of a folder."""
    folder.mkdir()
    (folder / "mpirun").symlink_to(debian(family))
    return str(folder)


@pytest.fixture
def name(workshop_home: Path, monkeypatch: pytest.MonkeyPatch):
    """Names the launcher, and perhaps the library, as a user does."""

    def chosen(launcher: str, library: str | Path | None = None) -> None:
        monkeypatch.setenv("WORKSHOP_MPI_LAUNCHER", launcher)
        if library is not None:
            monkeypatch.setenv("WORKSHOP_MPI_LIBRARY", str(library))

    return chosen


@pytest.mark.parametrize("family", FAMILIES)
def test_ranks_are_in_one_world_and_say_where_they_run(name, family: str) -> None:
    need(CORES >= 2, "this machine has one core")
    name(debian(family))
    said = report(system, Placement(mpi="system", ranks=2, bind_to="core"))
    title, library = FAMILIES[family]
    assert said["library"].startswith(title)
    (first, _), (second, _) = said["ranks"]
    assert first and second and not set(first) & set(second)
    words = system.describe()
    assert f"ABI of {title}, library" in words and f"{library}, launcher {debian(family)}" in words
    assert system.version().startswith(title) and re.search(r"\d+\.\d+\.\d+$", system.version())


@pytest.mark.parametrize("family", FAMILIES)
def test_a_rank_that_is_killed_is_named(name, family: str) -> None:
    name(debian(family))
    died, pids = kill(system, 1, 9)
    assert died is not None and died.signal == 9
    assert died.rank == 1 if family == "openmpi" else died.pid in pids  # version 4.1.4 says the process 0


@pytest.mark.parametrize(
    "values",
    [
        {"map_by": "package", "per_resource": 1, "ranks": 1},
        {"bind_to": "package", "ranks": 1},
        {"map_by": "hwthread", "ranks": 1},
        {"ranks": CORES + 1},
        {"ranks": CORES + 1, "bind_to": "core", "oversubscribe": True},
    ],
)
def test_version_4_of_open_mpi_takes_every_placement(name, values: dict) -> None:
    name(debian("openmpi"))
    placement = Placement(mpi="system", **values)
    assert len(report(system, placement)["ranks"]) == placement.ranks


def test_the_only_mpi_on_path_needs_no_name(workshop_home: Path, tmp_path: Path, monkeypatch) -> None:
    folder = only(tmp_path / "bin", "openmpi")
    ours = str(Path(sys.prefix) / "bin")
    monkeypatch.setenv("PATH", os.pathsep.join([ours, folder]))
    assert (Path(ours) / "mpirun").exists() and system.launcher() == f"{folder}/mpirun"
    assert mpi.installed() == ["openmpi"], "studies measure it only where somebody has named it"
    monkeypatch.setenv("WORKSHOP_MPI_LAUNCHER", "mpirun")
    monkeypatch.setenv("PATH", folder)
    assert mpi.installed() == ["openmpi", "system"]
    assert mpi.mpis()["system"]["where"] == f"{folder}/mpirun"


def test_the_centre_s_profile_names_the_mpi_and_its_modules(workshop_home: Path, tmp_path: Path, monkeypatch) -> None:
    folder = only(tmp_path / "bin", "mpich")
    (tmp_path / ".bash_profile").write_text(f"module() {{ export PATH={folder}:$PATH LOADED=$2; }}\n")
    (workshop_home / "site.yaml").write_text("modules: [mpich/4]\nmpi: {launcher: mpirun -genv A b}\n")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert system.launcher() == f"{folder}/mpirun"
    assert system.arguments(Placement(ranks=1), CORES)[:3] == ["-genv", "A", "b"]
    assert system.environment()["LOADED"] == "mpich/4"


def test_several_mpis_on_path_are_refused(workshop_home: Path, tmp_path: Path, monkeypatch) -> None:
    folders = [only(tmp_path / family, family) for family in FAMILIES]
    monkeypatch.setenv("PATH", os.pathsep.join(folders))
    with pytest.raises(
        BadInput, match=r"PATH has launchers of several MPIs, .*/openmpi/mpirun and .*/mpich/mpirun; name"
    ):
        system.launcher()
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(BadInput, match="PATH has no mpirun and no mpiexec: load the centre's module"):
        system.launcher()


def test_parts_that_do_not_fit_are_refused(name, workshop_home: Path) -> None:
    name(debian("mpich"))
    library = re.search(r"library (\S+),", system.describe())[1]
    name(debian("openmpi"), library)
    with pytest.raises(BadInput, match=r"of Open MPI, and \S+libmpich.so.12 has the ABI of MPICH; name the library"):
        system.launcher()
    mpis.use(workshop_home, "mpich")
    standard = next((workshop_home / "cache/mpi/mpich/lib").glob("libmpi_abi.so.?"))
    name(debian("mpich"), standard)
    with pytest.raises(
        BadInput, match=r"mpi4py has builds for the ABIs of Open MPI 4 and 5 .*, not for that of .*_abi"
    ):
        system.launcher()


@pytest.mark.parametrize(
    ("launcher", "library", "says"),
    [
        ("nosuch-mpirun", None, "The launcher nosuch-mpirun is not a program on PATH; name the launcher"),
        ("true", None, "is neither srun nor a launcher of Open MPI, MPICH or Intel MPI"),
        ("mpirun.mpich", "/nosuch/libmpi.so", "The library /nosuch/libmpi.so is not a file"),
        (
            "srun",
            None,
            "named without a plugin for MPI, so every rank would be alone; it should be like srun --mpi=pmix",
        ),
        ("srun --mpi=pmi2", None, "srun doesn't say which MPI its ranks have; name the library"),
    ],
)
def test_what_is_no_mpi_is_refused(name, launcher: str, library: str | None, says: str) -> None:
    need(shutil.which(launcher.split()[0]) or "nosuch" in launcher, launcher)
    name(launcher, library)
    with pytest.raises(BadInput, match=says):
        system.launcher()


def test_srun_starts_ranks_in_an_allocation_only(name) -> None:
    need(shutil.which("srun"), "Slurm's srun")
    name(debian("mpich"))
    name("srun --mpi=pmi2", re.search(r"library (\S+),", system.describe())[1])
    with pytest.raises(BadInput, match="srun starts ranks in an allocation of Slurm; start the session with --slurm"):
        mapper.check(Placement(mpi="system"))


@pytest.mark.parametrize("variable", system.OUTER)
def test_ranks_of_an_outer_job_do_not_start_sessions(name, monkeypatch: pytest.MonkeyPatch, variable: str) -> None:
    name(debian("openmpi"))
    monkeypatch.setenv(variable, "1")
    mapper.check(Placement(mpi="system"))
    monkeypatch.setenv(variable, "4")
    with pytest.raises(BadInput, match=rf"one of 4 ranks of an outer job \({variable} is set\).*unset {variable}"):
        mapper.check(Placement(mpi="system"))


def test_nobody_asks_its_mapper(name) -> None:
    name(debian("mpich"))
    placement, described = Placement(mpi="system", hosts=hosts_from("a:2,b:2"), ranks=4), machines.read("2x4")
    predicted = mapper.predict(placement, described)
    assert (predicted.rank_map, predicted.note) == (None, system.NO_MAP)
    written = command_lines.commands(placement, described, predicted)
    assert written["system"].startswith(f"{debian('mpich')} -n 4 -bind-to core -hosts a:2,b:2")
    assert "system" not in command_lines.commands(Placement(), described)


def test_over_ssh_version_4_of_open_mpi_has_other_variables(name) -> None:
    name(debian("openmpi"))
    assert system.over_ssh("ssh", ["-p", "22"]).items() >= {"OMPI_MCA_plm_rsh_args": "-p 22"}.items()
    name(debian("mpich"))
    assert system.over_ssh("ssh", [])["HYDRA_LAUNCHER_EXEC"] == "ssh"
