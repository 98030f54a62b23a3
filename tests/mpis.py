"""MPICH, Intel MPI and daal4py for tests: installed once, into a state folder beside the environment's packages, and
linked into the state folders of the tests that use them. `.ci/run` installs them there beforehand."""

from __future__ import annotations

import os
import subprocess
import sys
from functools import cache
from pathlib import Path

from tests.support import limit, need

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
