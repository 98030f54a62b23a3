"""Install what kmeans and regression compare with: MPICH, daal4py with scikit-learn-intelex, and faiss.

Each is in a prefix of its own in the state folder. Contenders are two ranks of one thread, or a process of two threads.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks import interleaved, say
from benchmarks.processes import answer, orders, waiting_ranks
from workshop.core import config, topology
from workshop.core.placement import Placement
from workshop.mpi import daal, openmpi, prefix

ALONE = False  # it only installs
DISTRIBUTED = ("ours", "daal4py_distributed")
PEERS = ("daal4py_distributed", "daal4py_threads", "sklearn")
FAISS = "faiss-cpu==1.15.1"
INSTALL = "python -m benchmarks peers"

Answers = dict[str, list[dict[str, Any]]]
# (order, ranks, rank) -> a function that computes on this rank's data, whose result is the answer
Prepare = Callable[[Mapping[str, Any], int, int], Callable[[], Mapping[str, Any]]]


@dataclass(frozen=True)
class Contender:
    """How its ranks are started, or a note why they can't be."""

    command: Sequence[str] = ()
    ranks: int = 1
    environment: Mapping[str, str] | None = None
    note: str = ""


def run() -> None:
    """Install them, each unless it is there. Raises WorkshopError."""
    say("Installing MPICH, daal4py with scikit-learn-intelex, and faiss ...")
    prefix.install(daal.MPI)
    daal.install()
    prefix.install_packages(_faiss(), [FAISS])
    say("They are there.")


def contenders(module: str, names: Sequence[str] = PEERS) -> dict[str, Contender]:
    """Ours and these peers, whose ranks run `python -m MODULE NAME FOLDER`, which calls `serve`.

    Beside PEERS there are `sklearn_elkan`, `sklearnex` and `faiss`.
    """
    cores = topology.allowed_cores(topology.machine())
    rank = [sys.executable, "-m", module]
    one, two = ({f"{name}_NUM_THREADS": count for name in ("OMP", "OPENBLAS")} for count in "12")
    mpirun = [openmpi.launcher(), "-n", "2", *openmpi.arguments(Placement(ranks=2), cores)]
    kernels = {"NUMBA_CACHE_DIR": str(config.cache_folder("numba"))}
    found = {"ours": Contender([*mpirun, *rank, "ours"], 2, one | openmpi.environment() | kernels)}
    found |= {name: Contender([*rank, name], environment=two) for name in ("sklearn", "sklearn_elkan")}
    oneapi = daal.path()  # scikit-learn-intelex is in the same package
    folders = dict.fromkeys(("daal4py_distributed", "daal4py_threads", "sklearnex"), oneapi)
    for name, folder in (folders | {"faiss": prefix.path(_faiss(), "faiss")}).items():
        if folder is None:
            title = {"sklearnex": "scikit-learn-intelex"}.get(name, name.partition("_")[0])
            found[name] = Contender(note=f"{title} is not installed; `{INSTALL}` does that.")
        else:
            found[name] = Contender([*rank, name], environment=two | _python_path(folder))
    mpich = prefix.installed().get(daal.MPI)
    if oneapi and mpich is None:
        found["daal4py_distributed"] = Contender(note=f"MPICH is not installed; `{INSTALL}` does that.")
    elif oneapi and mpich:
        command = [prefix.launcher(mpich), "-n", "2", *(["-bind-to", "core"] if cores >= 2 else []), *rank]
        environment = one | _python_path(oneapi) | prefix.environment(mpich)
        found["daal4py_distributed"] = Contender([*command, "daal4py_distributed"], 2, environment)
    return {name: found[name] for name in ("ours", *names)}


def _faiss() -> Path:
    return config.cache_folder("bench") / "faiss"


def _python_path(folder: str) -> dict[str, str]:
    return {"PYTHONPATH": os.pathsep.join(filter(None, [folder, os.environ.get("PYTHONPATH")]))}


def measure(chosen: Mapping[str, Contender], orders: Mapping[str, Mapping[str, Any]], repeats: int) -> Answers:
    """The answers of all contenders that can be started, by `CONTENDER_ORDER`, each `{seconds, …}`."""
    with ExitStack() as stack:
        ranks = {
            name: stack.enter_context(waiting_ranks(name, it.command, it.ranks, it.environment or {}))
            for name, it in chosen.items()
            if not it.note
        }
        turns = {f"{name}_{label}": partial(ranks[name], order) for label, order in orders.items() for name in ranks}
        return interleaved(turns, repeats)


def serve(begin: Callable[[str, Any], Prepare]) -> None:
    """Be a rank of the contender that the command line names: compute at every order, and answer with the seconds from
    when all ranks began to when all had ended. `begin(contender, communicator)` is called once; the communicator is
    None for a single process."""
    contender, folder = sys.argv[1:]
    comm: Any = None
    if contender in DISTRIBUTED:
        from mpi4py import MPI

        comm = MPI.COMM_WORLD
        if comm.size != 2:
            raise SystemExit(f"{contender} needs a world of 2 ranks, this one has {comm.size}")
    size, rank = (comm.size, comm.rank) if comm else (1, 0)
    barrier = comm.Barrier if comm else lambda: None
    prepare = begin(contender, comm)
    for order in orders(folder, rank):
        compute = prepare(order, size, rank)
        barrier()
        began = time.perf_counter()
        result = compute()
        barrier()
        seconds = time.perf_counter() - began
        if rank == 0:
            answer({"seconds": seconds, **result})
