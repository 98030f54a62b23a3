"""Processes that benches measure: runs in a session or by mpirun, programs from start to end, and ranks that wait."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workshop.core import config
from workshop.core.errors import WorkshopError
from workshop.core.placement import POLLING, Placement
from workshop.mpi import openmpi

if TYPE_CHECKING:
    from workshop.store.records import RunRecord, SessionRecord
    from workshop.store.store import Store

Order = Callable[[Mapping[str, Any]], dict[str, Any]]
SECONDS = 300.0  # for one run, or one answer of ranks
GRACE = 5.0  # seconds that a process has to end by itself


@contextmanager
def own_state() -> Iterator[Path]:
    """A state folder for this process and those that it starts, which is removed at the end. Compiled kernels are the
    user's: compiling them again would be what is measured."""
    cache = config.cache_folder("numba")
    with tempfile.TemporaryDirectory(prefix="benchmarks-") as folder, config.elsewhere(folder):
        config.cache_folder("numba").rmdir()
        (config.home() / "cache" / "numba").symlink_to(cache)
        yield Path(folder)


def completed(
    store: Store, session: SessionRecord, workload: str, params: Mapping[str, Any], placement: Any = None
) -> RunRecord:
    """Run a workload in a session; returns the completed run. Raises WorkshopError where it doesn't complete."""
    from workshop.sessions import client  # which ranks, to whom this module belongs, too, don't need

    run = client.wait(store, client.submit(store, session, workload, params, placement).id, timeout=SECONDS)
    if run.status != "completed" or run.metrics is None:
        raise WorkshopError(f"A run of {workload} did not complete: {(run.error or {}).get('message', run.status)}")
    return run


def run_workload(workload: str, ranks: int, params: Mapping[str, Any], seconds: float = SECONDS) -> dict[str, Any]:
    """Run a workload by mpirun on ranks of one thread, which may share cores; returns what its rank 0 prints. Raises
    WorkshopError."""
    placement = Placement(ranks=ranks, threads=1, oversubscribe=True, environment={POLLING: "1"})
    options = [word for key, value in params.items() for word in (f"--{key.replace('_', '-')}", str(value).lower())]
    command = [openmpi.launcher(), "-n", str(ranks), "--oversubscribe", sys.executable, "-m", "workshop.engine"]
    environment = os.environ | openmpi.environment(placement) | placement.rank_environment()
    return once(workload, [*command, workload, *options], environment, seconds)


def once(name: str, command: Sequence[str], environment: Mapping[str, str], seconds: float = SECONDS) -> dict[str, Any]:
    """Run a program to its end; returns the last line of JSON that it prints. Raises WorkshopError."""
    pipes: dict[str, Any] = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    process = subprocess.Popen(command, **pipes, text=True, env=dict(environment), start_new_session=True)
    try:
        output, errors = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        raise WorkshopError(f"{name} has not ended within {seconds:.0f} s.") from None
    finally:
        _end(process)
    answers = [line for line in output.splitlines() if line.startswith("{")]
    if process.returncode or not answers:
        raise WorkshopError(f"{name} ended with exit code {process.returncode}: {' '.join(errors.split())[-600:]}")
    return dict(json.loads(answers[-1]))


@contextmanager
def waiting_ranks(name: str, command: Sequence[str], ranks: int, environment: Mapping[str, str]) -> Iterator[Order]:
    """Start ranks that wait for their turn; gives a function that sends an order to all of them, and returns rank 0's
    answer. They run `command… FOLDER`, iterate over `orders(FOLDER, rank)`, and rank 0 calls `answer`. A rank waits at
    a pipe of its own: in MPI it would spin. An order raises WorkshopError where the ranks end or say nothing."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="benchmarks-")))
        errors = stack.enter_context((folder / "errors").open("w+"))
        for rank in range(ranks):
            os.mkfifo(folder / str(rank))
        streams: dict[str, Any] = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": errors}
        process = subprocess.Popen(
            [*command, str(folder)], **streams, env=os.environ | dict(environment), start_new_session=True
        )
        stack.callback(_end, process)
        pipes = [os.open(folder / str(rank), os.O_RDWR | os.O_CLOEXEC) for rank in range(ranks)]
        for pipe in pipes:
            stack.callback(os.close, pipe)  # that is a rank's last order

        def order(what: Mapping[str, Any]) -> dict[str, Any]:
            for pipe in pipes:
                os.write(pipe, json.dumps(dict(what)).encode() + b"\n")
            timer = threading.Timer(SECONDS, _end, [process])
            timer.start()
            try:
                for line in process.stdout or ():
                    if line.startswith(b"{"):
                        return dict(json.loads(line))
            finally:
                timer.cancel()
            words = " ".join((folder / "errors").read_text().split())[-600:]
            raise WorkshopError(f"{name} ended, or said nothing for {SECONDS:.0f} s: {words}")

        yield order


def orders(folder: str, rank: int) -> Iterator[dict[str, Any]]:
    """The orders that a rank of `waiting_ranks` gets, until its last."""
    with (Path(folder) / str(rank)).open() as pipe:
        yield from map(json.loads, pipe)


def answer(result: Mapping[str, Any]) -> None:
    print(json.dumps(dict(result)), flush=True)


def _end(process: subprocess.Popen[Any]) -> None:
    """End a process with its group. A launcher that is killed at once would leave its ranks behind."""
    for number in (None, signal.SIGTERM, signal.SIGKILL):
        with suppress(subprocess.TimeoutExpired, ProcessLookupError):
            if number is not None:
                os.killpg(process.pid, number)
            process.wait(GRACE)
            return
