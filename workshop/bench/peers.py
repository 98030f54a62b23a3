"""A distributed algorithm of ours against daal4py, scikit-learn and others: two ranks of one thread, or a process of
two threads, which take turns on the same data.

A bench gives the module that a rank runs: `python -m MODULE CONTENDER FOLDER`, which calls `serve`.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from importlib.machinery import PathFinder
from pathlib import Path
from typing import Any

from workshop import bench
from workshop.bench.crew import answer, crew, orders
from workshop.core import config, topology
from workshop.core.placement import Placement
from workshop.mpi import daal, openmpi, prefix

DISTRIBUTED = ("ours", "daal4py_distributed")
PEERS = ("daal4py_distributed", "daal4py_threads", "sklearn")
INSTALL = "workshop bench peers"
# Peers of one process that have a prefix of their own, by the module to import. NumPy is the environment's.
PACKAGES = {"faiss": "faiss-cpu==1.15.1", "fastkmeans": "fastkmeans==0.5.0"}

# (order, ranks, rank) -> a function that computes on this rank's data, whose result is the answer
Prepare = Callable[[Mapping[str, Any], int, int], Callable[[], Mapping[str, Any]]]


@dataclass(frozen=True)
class Contender:
    """How its ranks are started, or why they can't be."""

    command: Sequence[str] = ()
    ranks: int = 1
    environment: Mapping[str, str] | None = None
    note: str = ""


def install() -> None:
    """Install the peers: MPICH, daal4py with scikit-learn-intelex, faiss and fastkmeans, each in a prefix of its own.

    Raises WorkshopError.
    """
    prefix.install(daal.MPI)
    daal.install()
    for name, package in PACKAGES.items():
        prefix.install_packages(_folder(name), [package])


def contenders(module: str, names: Sequence[str] = PEERS) -> dict[str, Contender]:
    """Ours and these peers, whose ranks run the module: two ranks of one thread, or one process of two threads.

    Beside PEERS there are `sklearn_elkan` (k-means alone), `sklearnex` and those of PACKAGES.
    """
    cores = topology.allowed_cores(topology.machine())
    rank = [sys.executable, "-m", module]
    one_thread = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    two = {"OMP_NUM_THREADS": "2", "OPENBLAS_NUM_THREADS": "2"}
    mpirun = [openmpi.launcher(), "-n", "2", *openmpi.arguments(Placement(ranks=2), cores)]
    by_name = {
        "ours": Contender(
            [*mpirun, *rank, "ours"],
            ranks=2,
            environment=one_thread | openmpi.environment() | {"NUMBA_CACHE_DIR": str(config.cache_folder("numba"))},
        ),
        **{name: Contender([*rank, name], environment=two) for name in ("sklearn", "sklearn_elkan")},
    }
    daal4py = daal.path()  # scikit-learn-intelex is in the same package
    folders = {"daal4py_distributed": daal4py, "daal4py_threads": daal4py, "sklearnex": daal4py}
    folders |= {name: prefix.path(_folder(name), name) for name in PACKAGES}
    for name, folder in folders.items():
        if folder is None:
            title = {"sklearnex": "scikit-learn-intelex"}.get(name, name.partition("_")[0])
            by_name[name] = Contender(note=f"{title} is not installed; `{INSTALL}` does.")
        elif name == "fastkmeans" and PathFinder.find_spec("torch", [folder, *sys.path]) is None:
            by_name[name] = Contender(
                note="fastkmeans needs PyTorch, whose package on PyPI brings several GB of CUDA on Linux; "
                f"install PyTorch's build for CPUs into {folder}."
            )
        else:
            by_name[name] = Contender([*rank, name], environment=two | _python_path(folder))
    mpich = prefix.installed().get(daal.MPI)
    if daal4py and mpich is None:
        by_name["daal4py_distributed"] = Contender(note=f"MPICH is not installed; `{INSTALL}` does.")
    elif daal4py and mpich:
        binding = ["-bind-to", "core"] if cores >= 2 else []
        by_name["daal4py_distributed"] = Contender(
            [prefix.launcher(mpich), "-n", "2", *binding, *rank, "daal4py_distributed"],
            ranks=2,
            environment=one_thread | _python_path(daal4py) | prefix.environment(mpich),
        )
    return {name: by_name[name] for name in ("ours", *names)}


def _folder(name: str) -> Path:
    return config.cache_folder("bench") / name


def _python_path(folder: str) -> dict[str, str]:
    return {"PYTHONPATH": os.pathsep.join(filter(None, [folder, os.environ.get("PYTHONPATH")]))}


def measure(
    by_name: Mapping[str, Contender],
    orders_by_name: Mapping[str, Mapping[str, Any]],
    repeats: int,
    progress: bench.Progress,
) -> dict[str, list[dict[str, Any]]]:
    """The answers of all contenders that can be started, by `<contender>_<order's name>`; see `bench.interleaved`."""
    with ExitStack() as stack:
        crews = {
            name: stack.enter_context(crew(name, it.command, it.ranks, it.environment or {}))
            for name, it in by_name.items()
            if not it.note
        }

        def turn(name: str, order: Mapping[str, Any]) -> Callable[[], dict[str, Any]]:
            return lambda: crews[name](order)

        turns = {f"{name}_{label}": turn(name, order) for label, order in orders_by_name.items() for name in crews}
        return bench.interleaved(turns, repeats, progress)


def serve(begin: Callable[[str, Any], Prepare]) -> None:
    """Be a rank of the contender that the command line names: compute for every order, and answer with the seconds from
    when all ranks began to when all had ended.

    `begin(contender, communicator)` is called once; the communicator is None for a single process.
    """
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
