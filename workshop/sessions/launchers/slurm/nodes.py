"""Checks of an allocation's nodes before ranks start there: the same checks as for other hosts."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from workshop.core.parent_death import guarded
from workshop.sessions import preflight
from workshop.sessions.launchers.slurm import commands, queue

NODE_SECONDS = 60.0  # that all nodes get to answer, Python's start from a shared file system included
LOOKS = 0.1  # seconds between looks whether anybody still wants to know
ENDED = 3.0  # seconds that srun gets to take back its step


@dataclass
class NodeFindings:
    """The nodes' answers: sentences on faults, sentences for people, and the smallest node's machine; None without an
    answer."""

    failures: list[str] = field(default_factory=list)
    notices: list[str] = field(default_factory=list)
    machine: dict[str, Any] | None = None


def check(
    allocation: Mapping[str, str], count: int, folder: Path, address: str, give_up: Callable[[], bool]
) -> NodeFindings:
    """Ask all nodes at once, in one step of the job.

    `allocation` are Slurm's variables for the job with its `count` nodes, `folder` is the session's, which all of them
    have to see, and `address` this machine's, which they have to reach. Raises WorkshopError soon after `give_up`.
    """
    here = preflight.Here.described(address)
    step = ["srun", f"--nodes={count}", f"--ntasks={count}", "--ntasks-per-node=1", "--mpi=none", "--input=none"]
    began = time.time()
    try:
        with preflight.questioned(here, folder) as question:
            command = [*step, sys.executable, "-P", "-c", preflight.LOOK, question]
            done = _run(command, commands.environment() | dict(allocation), give_up)
    except TimeoutError:
        return NodeFindings([f"The nodes have not answered within {NODE_SECONDS:.0f} s; is their file system well?"])
    ended = time.time()
    answers = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    failures = [words for answer in answers for words in preflight.differences(answer["host"], answer, here, folder)]
    if len(answers) < count:
        message = commands.refusal(done.stderr) if done.stderr else f"srun ended with {done.returncode}"
        failures.append(f"{len(answers)} of {count} nodes have answered ({message}).")
    machines = sorted((answer["machine"] for answer in answers), key=lambda machine: len(machine["units"]))
    notices = [words for answer in answers for words in preflight.clock(answer["host"], answer, began, ended)]
    return NodeFindings(failures, notices, machines[0] if machines else None)


def _run(
    command: list[str], environment: Mapping[str, str], give_up: Callable[[], bool]
) -> subprocess.CompletedProcess[str]:
    """Run a command to its end. Raises TimeoutError after `NODE_SECONDS`, WorkshopError soon after `give_up`; it has
    ended then, too."""
    deadline = time.monotonic() + NODE_SECONDS
    with subprocess.Popen(
        guarded(command),
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            while True:
                try:
                    out, err = process.communicate(timeout=LOOKS)
                    return subprocess.CompletedProcess(command, process.returncode, out, err)
                except subprocess.TimeoutExpired:
                    queue.unless(give_up)
                if time.monotonic() > deadline:
                    raise TimeoutError
        finally:
            if process.poll() is None:
                process.terminate()
                try:
                    process.wait(ENDED)
                except subprocess.TimeoutExpired:
                    process.kill()
