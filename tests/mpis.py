"""MPICH, Intel MPI and daal4py for tests: installed once, into a state folder beside the
environment's packages, and linked into the state folders of the tests that use them. `.ci/run` installs them there
beforehand."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

from tests.support import limit, need
from workshop import mpi
from workshop.core import topology
from workshop.core.placement import Placement

HOME = Path(sys.prefix) / "workshop-tests"
PLACES = {"mpich": "cache/mpi/mpich", "intelmpi": "cache/mpi/intelmpi", "daal4py": "cache/bench/daal4py"}


def use(home: Path, *names: str) -> None:
    """Have these installed in a test's state folder."""
    for name in names:
        failure = _install(name)
        need(failure is None, f"{name}, for which a network is needed: {failure}")
        share(home, PLACES[name])


def share(home: Path, place: str) -> None:
    """Link a folder of that state into a test's own."""
    (home / place).parent.mkdir(parents=True, exist_ok=True)
    if not (home / place).is_symlink():
        (home / place).symlink_to(HOME / place)


@cache
def _install(name: str) -> str | None:
    """Install it unless it is there, as people do; why that can't be, or None."""
    if (HOME / PLACES[name]).is_dir():
        return None
    command = [str(Path(sys.prefix) / "bin" / "workshop"), "mpi", "install", name]
    variables = os.environ | {"WORKSHOP_HOME": str(HOME)}
    done = subprocess.run(command, env=variables, capture_output=True, text=True, timeout=limit(900))
    return None if done.returncode == 0 else done.stderr


def launched(home: Path, name: str, ranks: int, program: str) -> dict[str, Any]:
    """What a module's rank 0 wrote as JSON, run by this MPI with daal4py."""
    use(home, name, "daal4py")
    placement, module = Placement(mpi=name, ranks=ranks), mpi.module_of(name)
    output = home / "found.json"
    options = module.arguments(placement, topology.allowed_cores(topology.machine()))
    done = subprocess.run(
        [module.launcher(), "-n", str(ranks), *options, sys.executable, "-m", program, str(output)],
        env=os.environ | module.environment(placement) | placement.rank_environment(),
        cwd=Path(__file__).parent.parent,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=limit(120),
    )
    assert done.returncode == 0, done.stderr
    return json.loads(output.read_text())


def left_by_killed(folder: Path, contact: str) -> list[Path]:
    """Makes in a temporary folder what mpiruns would have left that had the numbers which come next and were killed;
    `contact` is how the names of their contact files begin. Returns their folders."""
    numbers = int(Path("/proc/sys/kernel/pid_max").read_text())
    with subprocess.Popen(["true"]) as last:
        pass
    made = [folder / f"ompi.{(last.pid + more) % numbers}" for more in range(1, 2500)]
    for one in made:
        one.mkdir()
        (one / f"{contact}{one.suffix}").touch()
    return made
