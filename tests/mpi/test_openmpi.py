"""Open MPI's command line for a placement, held against the real mpirun, and reading what it says."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

import psutil
import pytest

from tests.mpis import left_by_killed
from tests.support import limit, until
from workshop.core import topology
from workshop.core.placement import POLLING, Placement
from workshop.mpi import openmpi

CORES = topology.allowed_cores(topology.machine())
REPORT = (
    "import os, json; from mpi4py import MPI; c = MPI.COMM_WORLD\n"
    "found = c.gather((c.rank, sorted(os.sched_getaffinity(0)), os.environ['OMP_NUM_THREADS']))\n"
    "if c.rank == 0: print(json.dumps(found))"
)


def launch(placement: Placement) -> subprocess.CompletedProcess[str]:
    command = [openmpi.launcher(), "-n", str(placement.ranks), *openmpi.arguments(placement, CORES)]
    return subprocess.run(
        [*command, sys.executable, "-c", REPORT],
        env=os.environ | openmpi.environment() | placement.rank_environment(),
        capture_output=True,
        text=True,
        timeout=limit(60),
    )


def test_what_somebody_said_of_transports_counts_for_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OMPI_MCA_btl", raising=False)
    assert openmpi.environment()["OMPI_MCA_btl"] == "^ofi"
    monkeypatch.setenv("OMPI_MCA_btl", "self,sm")
    assert "OMPI_MCA_btl" not in openmpi.environment()
    openmpi.prepare()
    assert os.environ.items() >= {("OMPI_MCA_btl", "self,sm")}


@pytest.mark.real
def test_a_world_of_one_in_our_jupyter_needs_no_shared_memory() -> None:
    alone = (
        "from workshop.mpi import openmpi; openmpi.prepare()\n"
        "from mpi4py import MPI; MPI.Get_version()\n"
        "assert '/dev/shm' not in open('/proc/self/maps').read()"
    )
    subprocess.run([sys.executable, "-c", alone], env=os.environ | openmpi.environment(), check=True, timeout=limit(60))


@pytest.mark.real
def test_more_ranks_than_cores_run_unbound() -> None:
    found = json.loads(launch(Placement(ranks=CORES + 2)).stdout)
    assert len(found) == CORES + 2
    assert {tuple(row[1]) for row in found} == {tuple(sorted(os.sched_getaffinity(0)))}


@pytest.mark.real
def test_a_refused_mapping_says_why_in_its_own_words() -> None:
    refused = launch(Placement(ranks=2, map_by="package", per_resource=CORES + 1, cores_per_rank=CORES))
    assert refused.returncode != 0
    words = openmpi.refusal(refused.stdout + refused.stderr)
    assert "more processes than the ppr" in words or "not enough" in words or "Out of resource" in words
    assert "-----" not in words


@pytest.mark.real
def test_a_killed_rank_is_named() -> None:
    killer = (
        "import os; from mpi4py import MPI\n"
        "if MPI.COMM_WORLD.rank == 1: os.kill(os.getpid(), 9)\n"
        "MPI.COMM_WORLD.Barrier()"
    )
    command = [
        openmpi.launcher(),
        "-n",
        "2",
        *openmpi.arguments(Placement(ranks=2), CORES),
        sys.executable,
        "-c",
        killer,
    ]
    ended = subprocess.run(
        command, env=os.environ | openmpi.environment(), capture_output=True, text=True, timeout=limit(60)
    )
    died = openmpi.death(ended.stdout + ended.stderr)
    assert died is not None
    assert (died.rank, died.signal) == (1, 9)


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"ranks": 2, "bind_to": "package"}, "--map-by package --bind-to package"),
        ({"ranks": 2, "bind_to": "hwthread"}, "--map-by core:HWTCPUS --bind-to hwthread"),
        ({"ranks": 20}, "--map-by slot:OVERSUBSCRIBE --bind-to none"),
        ({"ranks": 2, "oversubscribe": True}, "--map-by core:OVERSUBSCRIBE --bind-to core:overload-allowed"),
    ],
)
def test_options_of_a_placement(values: dict, words: str) -> None:
    assert " ".join(openmpi.arguments(Placement(**values), cores=8)) == f"{words} {' '.join(openmpi.MCA)}"


def test_a_variable_can_ask_for_polling() -> None:
    assert not set(openmpi.MCA) & set(openmpi.arguments(Placement(environment={POLLING: "0"}), cores=8))


def test_a_quiet_end_is_not_a_death() -> None:
    assert openmpi.death("all is well") is None
    assert openmpi.refusal("") == ""


@pytest.mark.real
def test_killed_ones_are_not_in_the_way_of_those_that_get_their_numbers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))  # alone there: numbers are the whole machine's
    monkeypatch.setattr(tempfile, "tempdir", None)
    command = [openmpi.launcher(), *openmpi.arguments(Placement(ranks=1), CORES), "-n", "1"]
    with subprocess.Popen([*command, "sleep", "60"], env=os.environ | openmpi.environment()) as killed:
        left = tmp_path / f"ompi.{killed.pid}"
        until(lambda: list(left.glob(f"pmix.*.tool.prterun-*-{killed.pid}@0")), 20, "its contact files")
        openmpi.clear_way()
        assert left.is_dir(), "of one that lives"
        killed.kill()
    (tmp_path / f"{openmpi.GOING}ompi.1.0").mkdir()  # of one that was killed while it cleared
    (name,) = (file.name for file in left.glob(f"pmix.*.tool.{killed.pid}"))

    def start() -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*command, "true"],
            env=os.environ | openmpi.environment(),
            capture_output=True,
            text=True,
            timeout=limit(60),
        )

    made = left_by_killed(tmp_path, name.removesuffix(f".{killed.pid}"))
    with subprocess.Popen(["true"]) as dead:
        pass
    shutil.rmtree(tmp_path / f"ompi.{dead.pid}")
    elsewhere = tmp_path / f"ompi.{dead.pid}" / f"pmix.elsewhere.tool.{dead.pid}"
    elsewhere.parent.mkdir()
    elsewhere.touch()
    failed = start()
    assert failed.returncode != 0 and openmpi.passing(failed.stderr), "what is prevented here"

    def stale() -> list[Path]:
        mine = {left, *made} - {elsewhere.parent}
        return [folder for folder in mine if folder.exists() and not psutil.pid_exists(int(folder.suffix[1:]))]

    def cleared() -> bool:
        openmpi.launcher()
        return not stale()

    until(cleared, 20, "all to be gone but what has the number of a process that lives")
    assert elsewhere.exists() and not list(tmp_path.glob(".*"))
    for living in made:
        shutil.rmtree(living, ignore_errors=True)
    assert start().returncode == 0


@pytest.mark.real
def test_what_did_not_come_up_is_asked_once_more(tmp_path: Path) -> None:
    """A launcher that says the words of one, as often as there are lines in a file."""
    left = tmp_path / "left"
    script = f'test -s {left} || {{ echo mapped; exit 0; }}; sed -i 1d {left}; echo "$0" >&2; exit 1'
    words = f"The {openmpi.PASSING}. We cannot"
    for times, code in ((0, 0), (1, 0), (2, 1)):
        left.write_text("again\n" * times)
        asked = openmpi.asked_twice(["sh", "-c", script, words], os.environ, lambda: 20.0)
        assert (asked.returncode, asked.stdout) == (code, "" if code else "mapped\n")
    left.write_text("again\nagain\n")
    asked = openmpi.asked_twice(["sh", "-c", script, "There are not enough slots"], os.environ, lambda: 20.0)
    assert (asked.returncode, left.read_text()) == (1, "again\n"), "a refusal is an answer"


@pytest.mark.real
def test_what_does_not_answer_is_asked_once_more(tmp_path: Path) -> None:
    asked = tmp_path / "asked"
    script = f"echo >> {asked}; exec sleep 60"
    with pytest.raises(subprocess.TimeoutExpired):
        openmpi.asked_twice(["sh", "-c", script], os.environ, lambda: 1.0)
    assert asked.read_text().count("\n") == 2


LEFT = """Registration timed out
--------------------------------------------------------------------------
prterun detected that one or more processes exited with non-zero status,
thus causing the job to be terminated. The first process to do so was:

   Process name: [prterun-vm-26312@1,1]
   Exit code:    86
--------------------------------------------------------------------------
"""


def test_a_rank_that_gave_up_is_no_refusal() -> None:
    assert openmpi.early_exit(LEFT) == (1, 86)
    refused = "----------------------------------------\nThere are not enough slots\n" + "-" * 40
    assert openmpi.early_exit(refused) is None
    assert openmpi.refuses(refused)
    assert not openmpi.refuses("Registration timed out\n"), "a rank has printed that"


@pytest.mark.real
def test_what_was_ended_while_it_cleared_up_is_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It has removed some of its files by then, and others' folders stay."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with subprocess.Popen(["true"]) as ended:
        pass
    host = socket.gethostname().split(".")[0]
    left, others = tmp_path / f"ompi.{ended.pid}", tmp_path / f"ompi.{ended.pid + 1}"
    for folder, name in ((left, host), (others, "elsewhere")):
        folder.mkdir()
        (folder / f"pmix.{name}.tool.prterun-{name}-{folder.suffix[1:]}@0").touch()
    openmpi.clear_way()
    assert not left.exists() and others.exists()

    bare, alive = left, tmp_path / f"ompi.{os.getpid()}"  # whose contact files are gone, and one that still runs
    for folder in (bare, alive):
        (folder / "1").mkdir(parents=True)
    openmpi.clear_way()
    assert bare.exists(), "it may be another host's, that is just being made"
    for folder in (bare, alive):
        openmpi.remove_left(int(folder.suffix[1:]))
    assert not bare.exists() and alive.exists()
