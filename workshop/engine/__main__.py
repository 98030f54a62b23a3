"""A workload without any session: `mpirun -n 2 python -m workshop.engine kmeans --clusters 16`, or without mpirun.

The same function as in a session, on the ranks of MPI's world. Options are the workload's params; the result is one
JSON document on rank 0's standard output, and with `--output DIR` the run's artifacts and events as files.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NoReturn

from workshop.core import config
from workshop.core.documents import finite
from workshop.core.errors import OUT_OF_MEMORY, BadInput, WorkshopError
from workshop.engine import failure, threads
from workshop.engine.context import Memory, RankContext
from workshop.extension import Workload, help_of, no_artifacts
from workshop.mpi import openmpi
from workshop.registry import workload, workloads


def _options(words: list[str]) -> tuple[Workload, dict[str, Any], Path | None]:
    """Read the command line. Values stay text; the params model converts them."""
    parser = argparse.ArgumentParser(prog="python -m workshop.engine", description=__doc__)
    commands = parser.add_subparsers(dest="workload", required=True, metavar="WORKLOAD")
    for workload_class in workloads().values():
        command = commands.add_parser(
            workload_class.name, help=workload_class.summary, argument_default=argparse.SUPPRESS
        )
        for name, field in workload_class.params.model_fields.items():
            help_text = help_of(name, field).replace("%", "%%")
            command.add_argument(f"--{name.replace('_', '-')}", dest=name, help=help_text, metavar="VALUE")
        command.add_argument("--output", type=Path, help="folder for artifacts and events", metavar="DIR")
    values = vars(parser.parse_args(words))
    return workload(values.pop("workload")), values, values.pop("output", None)


def _write(folder: Path, rank: int, sink: Memory) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / f"events-{rank}.jsonl", "w") as file:
        for time, name, step, value in sink.events:
            file.write(json.dumps({"rank": rank, "time": time, "name": name, "step": step, "value": value}) + "\n")
    for name, (_, data) in sink.artifacts.items():
        (folder / Path(name).name).write_bytes(data)


def main() -> int:
    """Run on this rank; returns the exit code. A rank that fails takes the whole world with it."""
    openmpi.prepare()
    os.environ.setdefault("NUMBA_CACHE_DIR", str(config.cache_folder("numba")))
    from mpi4py import MPI

    world = MPI.COMM_WORLD
    sink = Memory()
    try:
        chosen, values, output = _options(sys.argv[1:])
        params = chosen.check(values)
        if lacks := chosen.lacks():
            raise BadInput(lacks)
        # One rank reads the files, as the client does for a session.
        inputs: Mapping[str, bytes] | WorkshopError | None = None
        if world.rank == 0:
            try:
                inputs = chosen.inputs(params, no_artifacts) if chosen.inputs else {}
                if chosen.fits:
                    chosen.fits(params, inputs, world.size)
            except WorkshopError as error:
                inputs = error
        inputs = world.bcast(inputs)
        if isinstance(inputs, WorkshopError):
            raise inputs
    except WorkshopError as error:  # the same on every rank: all end alike
        if world.rank == 0:
            print(error, file=sys.stderr)
        return error.exit_code
    ctx = RankContext(world, sink, inputs)
    try:
        metrics = threads.add_census(ctx.threads, ctx.comm, chosen.load()(ctx, params))
        if output is not None:
            _write(output, world.rank, sink)
    except Exception as error:
        description = failure.described(error, world.rank, world.size)
        plain = isinstance(error, WorkshopError) or description["type"] == OUT_OF_MEMORY
        print(f"rank {world.rank}: {description['message' if plain else 'traceback']}", file=sys.stderr)
        sys.stderr.flush()
        code = error.exit_code if isinstance(error, WorkshopError) else 1
        if world.size > 1:
            world.Abort(code)
        return code
    tell_result(ctx, chosen.name, world.size, metrics)
    if ctx.comm is not world:
        leave(ctx.comm)
    return 0


def leave(comm: Any) -> NoReturn:
    """End this rank with exit code 0 without MPI_Finalize, which may wait for ever for ranks that were lost. Collective
    over the ranks that are left: a rank that has ended delivers no message. mpirun must run with `--with-ft ulfm`."""
    from mpi4py import MPI

    with contextlib.suppress(MPI.Exception):
        comm.Agree(1)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)


def tell_result(ctx: RankContext, name: str, ranks: int, metrics: Mapping[str, Any]) -> None:
    """Print the result of a workload that began on so many ranks. Collective over those that are there at the end."""
    phases = ctx.comm.gather(ctx.phase_seconds)
    if phases is not None:  # rank 0 has the times of all ranks
        seconds = [{phase: round(value, 6) for phase, value in rank.items()} for rank in phases]
        summary = {"workload": name, "ranks": ranks, "metrics": metrics, "phase_seconds": seconds}
        print(json.dumps(finite(summary)), flush=True)


if __name__ == "__main__":
    sys.exit(main())
