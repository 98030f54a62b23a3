"""Slurm's commands and their answers: squeue, scancel, sinfo, scontrol. Each call has a time limit.

Also why Slurm has ended a job, in sentences for people.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass

from workshop.core.errors import BadInput, WorkshopError
from workshop.sessions.launchers import site

COMMAND_SECONDS = 20.0  # that a command may take: a busy controller is slow
FINAL, PAUSE = 4.0, 0.25  # seconds that a job which is ending gets until Slurm says how, and between questions
FORMAT = "%T|%r|%S|%N"
UNKNOWN = "invalid job id"  # what Slurm says of a job that it has forgotten
_PREAMBLE = re.compile(r"^\w+: (error|fatal): (Job submit/allocate failed: |Unable to allocate resources: )?")

# What a session needs to know of its allocation.
ALLOCATION = (
    "SLURM_JOB_ID", "SLURM_JOB_NODELIST", "SLURM_JOB_NUM_NODES", "SLURM_TASKS_PER_NODE", "SLURM_CPUS_PER_TASK",
    "SLURM_JOB_CPUS_PER_NODE", "SLURM_NTASKS",
)  # fmt: skip
# What Slurm's commands get of our variables, and with them what they start on nodes: that isn't encrypted on its way.
PASSED = ("PYTHONPATH", "SLURM_CONF")
PREFIXES = ("LC_", "SALLOC_")


@dataclass(frozen=True)
class Job:
    """A job as squeue describes it in `FORMAT`."""

    state: str  # PENDING, RUNNING, COMPLETING, TIMEOUT, …
    reason: str = "None"  # why it waits, or ended
    start: str = "N/A"  # when it began, or may begin
    nodes: str = ""  # in Slurm's short form, n[1-3]

    def __str__(self) -> str:
        return self.state if self.reason in ("None", "") else f"{self.state} ({self.reason})"


def installed() -> None:
    """Raises BadInput where Slurm's commands are not installed."""
    if shutil.which("salloc") is None:
        raise BadInput(
            "Slurm's salloc is not on this machine's PATH: start the session on a login node of the cluster, or "
            "without --slurm."
        )


def refusal(words: str) -> str:
    """The message of a command that refuses, without its preamble and repetitions."""
    lines = dict.fromkeys(_PREAMBLE.sub("", line).strip().rstrip(".") for line in words.splitlines())
    return "; ".join(line for line in lines if line)[:500] or "nothing"


def advice(words: str) -> str:
    """Advice on a job that salloc refuses."""
    low = words.lower()
    if "partition" in low and "account" not in low and "limit" not in low:
        return f"Give --partition one of {_answer('sinfo', '-h', '-o', '%R') or 'those that sinfo lists'}."
    if "account" in low:
        return "Give --account (and --partition) one of yours; `sacctmgr show associations user=$USER` lists them."
    if "time limit" in low:
        limits = _answer("sinfo", "-h", "-o", "%R %l")
        return f"Give --time fewer minutes{f'; partitions allow at most: {limits}' if limits else ''}."
    return "Change the placement or the options behind --slurm."


def _answer(*command: str) -> str:
    """All lines of a command's answer, joined; empty where it doesn't answer."""
    with suppress(WorkshopError):
        return ", ".join(dict.fromkeys(_ask(*command).strip().split("\n")))
    return ""


def job(number: str) -> Job | None:
    """A job as squeue describes it; None where Slurm has forgotten it. Raises WorkshopError."""
    try:
        lines = _ask("squeue", "-h", "-t", "all", "-o", FORMAT, "-j", number).splitlines()
    except WorkshopError as error:
        if UNKNOWN in str(error).lower():
            return None
        raise
    return Job(*lines[0].strip().split("|")) if lines else None


def named(name: str) -> list[str]:
    """The numbers of this user's unfinished jobs with that name. Raises WorkshopError."""
    return _ask("squeue", "-h", "-o", "%i", "-n", name, "-u", str(os.geteuid())).split()


def cancel(number: str) -> None:
    """End a waiting or running job; an ended job is no error. Raises WorkshopError."""
    try:
        _ask("scancel", number)
    except WorkshopError as error:
        if UNKNOWN not in str(error).lower():
            raise


def hostnames(nodes: str) -> list[str]:
    """The names behind Slurm's short form, n[1-3]. Raises WorkshopError."""
    return _ask("scontrol", "show", "hostnames", nodes).split()


def address(node: str) -> str:
    """The address or name at which Slurm itself finds a node. Raises WorkshopError."""
    match = re.search(r"\bNodeAddr=(\S+)", _ask("scontrol", "show", "node", node))
    return match[1] if match is not None else node


def slots(allocation: Mapping[str, str]) -> str:
    """Slurm's tasks on each node, 2(x3),1, as slots: a rank may be started on every core that was asked for; where no
    tasks were asked for, on every core."""
    tasks = "SLURM_NTASKS" in allocation or "SLURM_CPUS_PER_TASK" in allocation
    each = int(allocation.get("SLURM_CPUS_PER_TASK") or 1)
    counts = allocation["SLURM_TASKS_PER_NODE" if tasks else "SLURM_JOB_CPUS_PER_NODE"]
    return re.sub(r"(?<![x\d])\d+", lambda count: str(int(count[0]) * each), counts)


def per_node(counts: str) -> list[int]:
    """Slurm's short form of a number on each node, 2(x3),1, as a list."""
    return [int(each) for each, times in re.findall(r"(\d+)(?:\(x(\d+)\))?", counts) for _ in range(int(times or 1))]


def environment() -> dict[str, str]:
    """The variables for Slurm's commands: no secrets, and none of an allocation around this process."""
    names = (*site.BASIC, *PASSED)
    return {name: value for name, value in os.environ.items() if name in names or name.startswith(PREFIXES)}


def _ask(*command: str) -> str:
    """A command's output. Raises WorkshopError where it fails, also because Slurm's controller is away for a while."""
    try:
        return subprocess.run(
            command, capture_output=True, text=True, timeout=COMMAND_SECONDS, env=environment(), check=True
        ).stdout
    except subprocess.TimeoutExpired:
        raise WorkshopError(f"Slurm's {command[0]} has not answered within {COMMAND_SECONDS:.0f} s.") from None
    except subprocess.CalledProcessError as error:
        raise WorkshopError(f"Slurm's {command[0]} has failed: {refusal(error.stderr)}.") from None


# By the state that squeue tells.
ENDINGS = {
    "TIMEOUT": "its time limit{minutes} was reached; start the session with a longer --time",
    "PREEMPTED": "another job took its place (preemption)",
    "SUSPENDED": "it was suspended, for another job or by an administrator",
    "NODE_FAIL": "one of its nodes ({nodes}) failed",
    "CANCELLED": "somebody cancelled it (scancel)",
    "OUT_OF_MEMORY": "its processes took more memory than it has",
    "FAILED": "it failed",
    "PENDING": "it was put back into the queue",
}
# By the reason that squeue tells of a job which is ending, and whose state doesn't say how yet.
REASONS = {"TimeLimit": "TIMEOUT", "NodeFail": "NODE_FAIL", "Preempted": "PREEMPTED"}


def why_ended(number: str, job: Job | None, minutes: int | None) -> str:
    """Why a job doesn't run any longer. `minutes` is its time limit where one was asked for; `job` is None where
    Slurm doesn't know it."""
    which = f"Slurm ended the allocation {number}"
    if job is None:
        return f"{which}: it does not know it any longer"
    state = REASONS.get(job.reason, job.state) if job.state in ("COMPLETING", "FAILED") else job.state
    if state not in ENDINGS:
        return f"{which}: {job}"
    return f"{which}: " + ENDINGS[state].format(
        minutes=f" of {minutes} minute{'s' if minutes != 1 else ''}" if minutes else "",
        nodes=job.nodes,
    )


def lost(number: str, minutes: int | None) -> str | None:
    """Why a job doesn't run any longer; None while it does. A job that is ending gets a few seconds until the reason is
    known. `minutes` is as for `why_ended`."""
    deadline = time.monotonic() + FINAL
    while True:
        try:
            now = job(number)
        except WorkshopError:
            return None  # Slurm's controller may be away for minutes while jobs go on
        if now is not None and now.state in ("RUNNING", "CONFIGURING"):
            return None
        unclear = now is not None and now.state == "COMPLETING" and now.reason not in REASONS
        if not unclear or time.monotonic() > deadline:
            return why_ended(number, now, minutes)
        time.sleep(PAUSE)
