"""Scripts that are written for a placement, on a real Slurm of three nodes."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.slurm import CPUS, NODES, Slurm
from workshop.core import machines
from workshop.mpi import command_lines, mapper, reader

pytestmark = pytest.mark.real
MACHINE = machines.read(f"1x{CPUS}")
ALL, TWO = ",".join(NODES), ",".join(NODES[:2])


@pytest.mark.parametrize(
    ("options", "each"),
    [
        (f"-H {ALL} -n 6 --map-by ppr:2:package --oversubscribe", "2(x3)"),
        (f"-H {TWO} -n 2 --map-by package --bind-to package", "1(x2)"),
        ("-n 5 --oversubscribe", "5"),
    ],
)
def test_slurm_takes_a_written_script_and_gives_each_node_slots_for_its_ranks(
    cluster: Slurm, tmp_path: Path, options: str, each: str
) -> None:
    placement = reader.parse(f"mpirun {options} t", None, MACHINE).placement
    text = command_lines.commands(placement, MACHINE, mapper.predict(placement, MACHINE))["sbatch"]
    assert not [line for line in text.splitlines() if line.startswith("# ")]
    told, script = tmp_path / "told", tmp_path / "job.sh"
    *head, started = text.splitlines()
    assert started.startswith("mpirun ")
    script.write_text("\n".join([*head, f'echo "$SLURM_NTASKS $SLURM_TASKS_PER_NODE" > {told}', ""]))
    cluster.ask("sbatch", "--wait", "--output=/dev/null", str(script))
    assert told.read_text().strip() == f"{placement.ranks} {each}"
