"""Plain launches with MPICH and Intel MPI, for the tests of both."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from threading import Timer
from types import ModuleType
from typing import Any

from tests.support import until
from workshop.core import topology
from workshop.core.placement import Placement
from workshop.mpi.openmpi import Death

ENDED = 120  # seconds
CORES = topology.allowed_cores(topology.machine())
REPORT = """
import json, os
from mpi4py import MPI
world = MPI.COMM_WORLD
found = world.gather([sorted(os.sched_getaffinity(0)), os.environ["OMP_NUM_THREADS"]])
if world.rank == 0:
    print(json.dumps({"library": MPI.Get_library_version(), "ranks": found}))
"""
WAIT = """
import os, sys
from mpi4py import MPI
world = MPI.COMM_WORLD
pids = world.gather(os.getpid())
if world.rank == 0:
    print(*pids, flush=True)
world.recv(source=(world.rank + 1) % world.size)  # what nobody sends
"""


def command(module: ModuleType, placement: Placement) -> list[str]:
    return [module.launcher(), "-n", str(placement.ranks), *module.arguments(placement, CORES), sys.executable, "-c"]


def variables(module: ModuleType, placement: Placement) -> dict[str, str]:
    return os.environ | module.environment(placement) | placement.rank_environment()


def report(module: ModuleType, placement: Placement) -> dict[str, Any]:
    """The library and what each rank says of itself: allowed units, number of threads."""
    done = subprocess.run(
        [*command(module, placement), REPORT],
        env=variables(module, placement),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr + done.stdout
    return json.loads(done.stdout)


def kill(module: ModuleType, victim: int, number: int) -> tuple[Death | None, list[int]]:
    """Kill one of three ranks that wait for a message which nobody sends: what the module reads of it, and the
    processes of all, which the launcher has to have ended with itself."""
    placement = Placement(ranks=3, bind_to="none")
    process = subprocess.Popen(
        [*command(module, placement), WAIT],
        env=variables(module, placement),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    late = Timer(ENDED, process.kill)  # only ranks that nobody ends keep the launcher so long, however busy the machine
    late.start()
    try:
        with process:
            assert process.stdout is not None
            pids = [int(word) for word in process.stdout.readline().split()]
            assert len(pids) == 3
            segments = {line.split()[-1] for line in Path(f"/proc/{pids[0]}/maps").read_text().splitlines()}
            os.kill(pids[victim], number)
            said = process.stdout.read()
    finally:
        late.cancel()
    assert process.returncode != -signal.SIGKILL, f"the launcher didn't end within {ENDED} s"
    for segment in segments:  # outlives ranks that somebody kills
        if segment.startswith("/dev/shm/"):
            Path(segment).unlink(missing_ok=True)
    until(
        lambda: not any(os.path.exists(f"/proc/{pid}") for pid in pids), ENDED, "the ranks to end with their launcher"
    )
    return module.death(said), pids
