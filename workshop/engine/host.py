"""A rank of a session: an ipyparallel engine with a line to its conductor. Run by mpirun as `-m workshop.engine.host`.

The conductor calls `report()` when engines have started and `execute()` for each run, on all ranks at once.
"""

from __future__ import annotations

import contextlib
import faulthandler
import json
import os
import signal
import socket
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from workshop.core import rank_map, topology
from workshop.core.config import TEMPORARY
from workshop.core.memory import give_way
from workshop.engine import failure, message_counts, threads
from workshop.engine.context import RankContext
from workshop.engine.reporter import Reporter
from workshop.registry import workload

CHANNEL = "WORKSHOP_CHANNEL"  # the file that tells engines how to reach their conductor
_reporter: Reporter | None = None


def _world() -> Any:
    from mpi4py import MPI

    return MPI.COMM_WORLD


def _neighbours(world: Any) -> dict[int, int]:
    """The processes of all ranks on this host, by rank. Collective."""
    here = socket.gethostname()
    processes = enumerate(world.allgather((here, os.getpid())))
    return {rank: pid for rank, (host, pid) in processes if host == here}


def report() -> dict[str, Any]:
    """A report of this rank, the shared memory that it made, and, from the first rank of each host, the host's machine.
    Collective."""
    # ipyparallel's own handler lets the rank go on until its run has ended, and wait in MPI_Finalize after that: alive,
    # and deaf to the next run.
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    world = _world()
    assert _reporter is not None, "an engine starts with its reporter"
    local_rank = list(_reporter.neighbours).index(world.rank)
    measured = rank_map.measure(world.rank, local_rank, _reporter.threads)
    return {
        "report": measured,
        "size": world.size,
        "machine": topology.machine() if local_rank == 0 else None,
        "segments": _segments(),
    }


def _segments() -> list[str]:
    """Files of shared memory that this process has mapped; they outlive a rank that is killed."""
    maps = Path("/proc/self/maps").read_text().splitlines()
    return sorted({line.split()[-1] for line in maps if line.split()[-1].startswith("/dev/shm/")})


def execute(run: int, name: str, values: dict[str, Any], inputs: dict[str, bytes], life: int) -> str:
    """Run a workload on this rank and tell the conductor how it ended. `life` is how many attempts there were
    before. Collective."""
    reporter = _reporter
    assert reporter is not None, "an engine starts with its reporter"
    reporter.begin(run, life)
    word: dict[str, Any]
    ctx: RankContext | None = None
    try:
        chosen = workload(name)
        comm = _world().Dup()  # the run's own: a message that an earlier run left behind never reaches it
        ctx = RankContext(comm, reporter, inputs)
        counts = message_counts.MessageCounts(ctx.size) if message_counts.is_wanted() else None
        if counts is not None:
            ctx.begin_activity = counts.begin
        ctx.activity("importing libraries")
        function = chosen.load()
        ctx.activity("computing")
        metrics = threads.add_census(ctx.threads, ctx.comm, function(ctx, chosen.check(values)))
        if counts is not None:
            counts.end(ctx)
        message_counts.free(ctx.comm)
        kind, word = "finished", {"metrics": _plain(metrics) if ctx.rank == 0 else {}}
    except BaseException as error:  # also KeyboardInterrupt and SystemExit: the conductor must hear of every end
        kind, word = "failed", failure.described(error, reporter.rank, _world().Get_size())
    reporter.threads.look()
    core = ctx.core.as_json() if ctx is not None else None
    reporter.end({"kind": kind, **word, "threads": reporter.threads.as_json(), "core": core})
    return kind


def _plain(metrics: Mapping[str, Any]) -> Any:
    """Metrics as JSON has them; NumPy's numbers and arrays become Python's. Raises TypeError for anything else."""

    def convert(value: Any) -> Any:
        if hasattr(value, "tolist"):
            return value.tolist()
        raise TypeError(f"a metric is a {type(value).__name__}, which JSON doesn't have")

    return json.loads(json.dumps(dict(metrics), default=convert))


def _keep_temporary_files(session: Path) -> None:
    """Have Python's libraries put temporary files into the session's folder, so that they disappear with it.

    TMPDIR stays as it is. Every MPI has sockets there, whose paths may have only 107 bytes.
    """
    folder = session / TEMPORARY
    with contextlib.suppress(OSError):
        folder.mkdir(mode=0o700, exist_ok=True)
        tempfile.tempdir = str(folder)


def main() -> None:
    """Become an engine. Command-line options are ipyparallel's own."""
    global _reporter
    give_way()
    faulthandler.enable(all_threads=False)  # a crash says in which lines of Python; the session's log keeps that
    file = Path(os.environ[CHANNEL])
    channel = json.loads(file.read_text())
    _keep_temporary_files(file.parent)

    from workshop.engine.ipython import main as engine_main

    # This module is __main__ here, but the conductor's calls arrive at its importable name.
    sys.modules["workshop.engine.host"] = sys.modules[__name__]
    _reporter = Reporter(channel, _world().rank)
    _reporter.neighbours = _neighbours(_world())  # from here on somebody ends us, however long this waits
    engine_main()


if __name__ == "__main__":
    main()
