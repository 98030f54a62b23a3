"""Processes that are measured: some wait, without using a core, until it is their turn; others start for each."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, Any

from workshop.bench import clean_end
from workshop.core.errors import WorkshopError
from workshop.core.placement import POLLING, Placement
from workshop.mpi import openmpi

SECONDS = 300.0  # for one answer
GRACE = 5.0  # seconds to end by themselves

Order = Callable[[Mapping[str, Any]], dict[str, Any]]


@contextmanager
def crew(name: str, command: Sequence[str], ranks: int, environment: Mapping[str, str]) -> Iterator[Order]:
    """Start the ranks of one contender; gives a function that sends all of them an order and returns the answer.

    Each rank runs `command... FOLDER`, takes `orders(FOLDER, rank)`, and rank 0 calls `answer` for every order. A rank
    waits at a pipe of its own: waiting in MPI it would spin. All end with the `with` block, or with this process.
    Raises WorkshopError when ranks fail or don't answer in time.
    """
    with ExitStack() as stack:
        stack.enter_context(clean_end())
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="workshop-bench-")))
        errors = stack.enter_context((folder / "errors").open("w+"))
        for rank in range(ranks):
            os.mkfifo(folder / str(rank))
        process = subprocess.Popen(
            [*command, str(folder)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=errors,
            env=os.environ | dict(environment),
            start_new_session=True,
        )
        stack.callback(_end, process)
        # Opened for both ways opening doesn't wait; that no other process holds this end makes its closing their end.
        pipes = [os.open(folder / str(rank), os.O_RDWR | os.O_CLOEXEC) for rank in range(ranks)]
        for pipe in pipes:
            stack.callback(os.close, pipe)
        lines = _lines(process)

        def order(what: Mapping[str, Any]) -> dict[str, Any]:
            for pipe in pipes:
                os.write(pipe, json.dumps(dict(what)).encode() + b"\n")
            line = next(lines, None)
            if line is None:
                errors.seek(0)
                words = " ".join(errors.read().split())[-600:]
                raise WorkshopError(f"{name} ended or said nothing for {SECONDS:.0f} s while it was measured: {words}")
            return json.loads(line)

        yield order


def once(name: str, command: Sequence[str], environment: Mapping[str, str], seconds: float) -> dict[str, Any]:
    """Run a program in that environment from its start to its end; returns the last line that it prints as JSON.

    Raises WorkshopError when it fails, prints none or takes longer than `seconds`; leaves no process behind.
    """
    with clean_end(), tempfile.TemporaryFile("w+") as errors:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=errors,
            env=dict(environment),
            start_new_session=True,
        )
        try:
            output, _ = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            raise WorkshopError(f"{name} has not ended within {seconds:.0f} s.") from None
        finally:
            if process.poll() is None:
                _end(process)
        answers = [line for line in output.splitlines() if line.startswith(b"{")]
        if process.returncode != 0 or not answers:
            errors.seek(0)
            words = " ".join(errors.read().split())[-600:]
            raise WorkshopError(f"{name} ended with exit code {process.returncode} while it was measured: {words}")
        return json.loads(answers[-1])


def run_workload(name: str, workload: str, ranks: int, params: Mapping[str, Any], seconds: float) -> dict[str, Any]:
    """Run a workload by mpirun on ranks of one thread, which may share cores; returns its workload and metrics. Raises
    WorkshopError as `once` does."""
    placement = Placement(ranks=ranks, threads=1, oversubscribe=True, environment={POLLING: "1"})
    options = [word for key, value in params.items() for word in (f"--{key.replace('_', '-')}", str(value).lower())]
    command = [openmpi.launcher(), "-n", str(ranks), "--oversubscribe", sys.executable, "-m", "workshop.engine"]
    environment = os.environ | openmpi.environment(placement) | placement.rank_environment()
    return once(name, [*command, workload, *options], environment, seconds)


def orders(folder: str, rank: int) -> Iterator[dict[str, Any]]:
    """The orders that a rank receives, until the last one."""
    with (Path(folder) / str(rank)).open() as pipe:
        for line in pipe:
            yield json.loads(line)


def answer(result: Mapping[str, Any]) -> None:
    """On rank 0: answer an order."""
    print(json.dumps(dict(result)), flush=True)


def _lines(process: subprocess.Popen[bytes]) -> Iterator[bytes]:
    """Whole lines of its output that are JSON; ends when it has ended, or says nothing for too long."""
    output: IO[bytes] = process.stdout
    rest = b""
    deadline = time.monotonic() + SECONDS
    while select.select([output], [], [], max(deadline - time.monotonic(), 0))[0]:
        data = os.read(output.fileno(), 1 << 16)
        if not data:
            return
        *complete, rest = (rest + data).split(b"\n")
        for line in complete:
            if line.startswith(b"{"):
                yield line
                deadline = time.monotonic() + SECONDS


def _end(process: subprocess.Popen[bytes]) -> None:
    """Wait until it ends, having lost its pipes; else end its process group, kindly at first: a launcher that is
    killed leaves its ranks behind."""
    for number in (None, signal.SIGTERM, signal.SIGKILL):
        if number is not None:
            os.killpg(process.pid, number)
        try:
            process.wait(GRACE)
            break
        except subprocess.TimeoutExpired:
            continue
    process.stdout.close()
