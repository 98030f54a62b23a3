"""Commands to copy, held against the programs that they are for."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings

from tests import mpis
from tests.mpi.test_reader import placements
from tests.support import limit, need
from workshop.core import machines, topology
from workshop.core.placement import Placement, hosts_from
from workshop.mpi import command_lines, horovod, mapper, openmpi, prefix, reader
from workshop.mpi.implementations import implementation

MACHINE = machines.read("2x4x2")
EXAMPLE = Placement(
    ranks=6, hosts=hosts_from("hostA:2,hostB:2,hostC:2"), map_by="package", per_resource=1, cores_per_rank=2
)
CORES = topology.allowed_cores(topology.machine())
PROGRAM = shlex.join(command_lines.PROGRAM)
NASTY = {"A": 'it\'s "two" $words; `here` #1', "EMPTY": "", "KMP_AFFINITY": "granularity=fine,compact,1,0"}
TELL = (
    "import json, os, sys; from mpi4py import MPI; c = MPI.COMM_WORLD\n"
    "told = c.gather([c.rank, sorted(os.sched_getaffinity(0)), os.environ.get('A'), os.environ['OMP_NUM_THREADS']])\n"
    "if c.rank == 0: print('TOLD' + json.dumps([c.size, MPI.Get_library_version(), told]))"
)


def run(text: str, variables: dict[str, str], folder: Path, timeout: float = 90) -> list:
    """Run a copied command in a shell, with a program that tells where it runs for `python train.py`."""
    (folder / "tell.py").write_text(TELL)
    program = shlex.join([sys.executable, str(folder / "tell.py")])
    assert text.rstrip().endswith(PROGRAM)
    text = text.rstrip().removesuffix(PROGRAM) + program
    path = os.pathsep.join([str(Path(openmpi.launcher()).parent), os.environ["PATH"]])
    ran = subprocess.run(
        ["bash", "-c", text],
        env=os.environ | openmpi.environment() | {"PATH": path} | variables,
        capture_output=True,
        text=True,
        timeout=limit(timeout),
    )
    told = [line.partition("TOLD")[2] for line in ran.stdout.splitlines() if "TOLD" in line]
    assert ran.returncode == 0 and told, ran.stderr
    return json.loads(told[0])


def test_the_workshops_two_socket_example() -> None:
    written = command_lines.commands(EXAMPLE, MACHINE)
    assert list(written) == ["openmpi", "mpich", "intelmpi", "mpirun_rsh", "horovodrun", "sbatch"]
    assert written["openmpi"].startswith(
        "mpirun -n 6 --map-by ppr:1:package:pe=2 --bind-to core -H hostA:2,hostB:2,hostC:2 "
    )
    assert "-x OMP_NUM_THREADS=2" in written["openmpi"]
    assert "-bind-to core:2 -map-by socket -hosts hostA:2,hostB:2,hostC:2" in written["mpich"]
    assert "-genv I_MPI_PIN_DOMAIN 4" in written["intelmpi"] and "-ppn 2" in written["intelmpi"]
    assert "no words for 1 rank per package" in written["mpirun_rsh"]
    assert "horovodrun -np 6 -H hostA:2,hostB:2,hostC:2" in written["horovodrun"]
    assert '--binding-args="--map-by ppr:1:package:pe=2 --bind-to core"' in written["horovodrun"]
    script = written["sbatch"].splitlines()
    assert script[0] == "#!/bin/bash"
    assert {"#SBATCH --nodes=3", "#SBATCH --ntasks-per-node=2", "#SBATCH --cpus-per-task=4"} <= set(script)
    assert script[-1].startswith("mpirun -n 6 --map-by ppr:1:package:pe=2 --bind-to core")
    assert " -H " not in script[-1]
    for text in written.values():
        assert text.rstrip().endswith(PROGRAM)


def test_no_other_mpi_gets_intel_mpis_variables_of_pinning() -> None:
    described = machines.read("2x4")
    read = reader.parse("mpirun -ppn 2 -n 4 -genv I_MPI_PIN_DOMAIN=socket ./a", None, described)
    written = command_lines.commands(read.placement, described, mapper.predict(read.placement, described))
    assert {tool for tool, text in written.items() if "I_MPI_PIN" in text} == {"intelmpi", "sbatch"}


def test_mvapich_names_the_host_of_each_rank_and_its_binding() -> None:
    hosts = hosts_from("hostA:2,hostB:2")

    def written(**values: object) -> str:
        placement = Placement.parse({"ranks": 4, "hosts": hosts, **values})
        return command_lines.commands(placement, MACHINE)["mpirun_rsh"].splitlines()[-1]

    assert written().startswith("mpirun_rsh -np 4 hostA hostA hostB hostB OMP_NUM_THREADS=1 ")
    assert "MV2_ENABLE_AFFINITY=1 MV2_CPU_BINDING_POLICY=bunch MV2_CPU_BINDING_LEVEL=core " in written()
    assert "hostA hostB hostA hostB" in written(map_by="node")
    assert "MV2_CPU_BINDING_POLICY=scatter MV2_CPU_BINDING_LEVEL=socket" in written(map_by="package", bind_to="package")
    hybrid = "MV2_CPU_BINDING_POLICY=hybrid MV2_HYBRID_BINDING_POLICY=linear MV2_THREADS_PER_PROCESS=2"
    assert hybrid in written(cores_per_rank=2)
    assert "MV2_ENABLE_AFFINITY=0" in written(bind_to="none")


def test_what_a_tool_has_no_words_for_is_said() -> None:
    two = Placement(ranks=4, map_by="package", per_resource=2)
    written = command_lines.commands(two, MACHINE)
    remarks = [line for line in written["mpich"].splitlines() if line.startswith("#")]
    assert "no words for 2 ranks per package" in remarks[0]
    assert "Without mapping and binding" in remarks[1]
    assert "-map-by" not in written["mpich"]
    uneven = EXAMPLE.model_copy(update={"hosts": hosts_from("a:2,b:4"), "mpi": "openmpi"})
    written = command_lines.commands(uneven, MACHINE)
    assert "# Slurm has no words" in written["sbatch"]
    assert "On this host alone" in written["intelmpi"] and "-hosts" not in written["intelmpi"]


@settings(max_examples=60, deadline=None)
@given(placements())
def test_commands_are_good_shell(placement: Placement) -> None:
    for text in command_lines.commands(placement, MACHINE).values():
        lines = [line for line in text.splitlines() if not line.startswith("#")]
        assert shlex.split(lines[-1])[-2:] == list(command_lines.PROGRAM)


@pytest.mark.real
def test_a_script_is_good_bash() -> None:
    text = command_lines.commands(EXAMPLE.model_copy(update={"environment": NASTY}), MACHINE)["sbatch"]
    checked = subprocess.run(["bash", "-n"], input=text, capture_output=True, text=True)
    assert (checked.returncode, checked.stderr) == (0, "")


@pytest.mark.real
@pytest.mark.parametrize("tool", ["openmpi", "sbatch"])
def test_open_mpi_takes_what_is_written(tmp_path: Path, tool: str) -> None:
    placement = Placement(ranks=2, environment=NASTY, threads=3)
    text = command_lines.commands(placement, machines.this())[tool]
    size, library, told = run(text, {}, tmp_path)
    assert size == 2 and "Open MPI" in library
    assert [row[2:] for row in told] == [[NASTY["A"], "3"]] * 2
    if CORES >= 2:
        assert not set(told[0][1]) & set(told[1][1])


@pytest.mark.real
def test_horovodrun_takes_what_is_written(tmp_path: Path) -> None:
    need(horovod.library() is not None, "Horovod is not built")
    need(CORES >= 2, "this machine has one core")
    placement = Placement(ranks=2, map_by="core", bind_to="core", environment={"A": "b c"})
    text = command_lines.commands(placement, machines.this())["horovodrun"]
    size, library, told = run(text, {}, tmp_path)
    assert size == 2 and "Open MPI" in library
    assert [row[2:] for row in told] == [["b c", "1"]] * 2
    assert len(told[0][1]) == len(told[1][1]) and told[0][1] != told[1][1]


@pytest.mark.real
@pytest.mark.parametrize(
    "values",
    [{}, {"bind_to": "none"}, {"map_by": "core", "bind_to": "core"}, {"bind_to": "package"}, {"map_by": "node"}],
    ids=str,
)
@pytest.mark.parametrize(("name", "says"), [("mpich", "MPICH"), ("intelmpi", "Intel")])
def test_the_others_take_what_is_written(
    workshop_home: Path, tmp_path: Path, name: str, says: str, values: dict[str, str]
) -> None:
    mpis.use(workshop_home, name)
    folder = prefix.installed()[name]
    placement = Placement(mpi=name, ranks=2, environment=NASTY, **values)
    text = command_lines.commands(placement, machines.this())[name]
    assert not text.startswith("#")
    launcher = implementation(name).command
    words = text.replace(f"{launcher} ", f"{prefix.launcher(folder)} ", 1)
    variables = prefix.environment(folder) | ({"I_MPI_FABRICS": "shm"} if name == "intelmpi" else {})
    size, library, told = run(words, variables, tmp_path)
    assert size == 2 and says in library
    assert [row[2:] for row in told] == [[NASTY["A"], "1"]] * 2
    if CORES >= 2 and values.get("bind_to") == "core":
        assert not set(told[0][1]) & set(told[1][1])
