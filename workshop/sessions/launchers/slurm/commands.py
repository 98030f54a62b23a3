"""Slurm's commands and their answers: squeue, scancel, sinfo, scontrol. Each call has a time limit."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass

from workshop.core.errors import BadInput, WorkshopError
from workshop.sessions.launchers import site

COMMAND_SECONDS = 20.0  # that a command may take: a busy controller is slow
FORMAT = "%i|%T|%r|%S|%N|%D"
WAITING = ("PENDING", "CONFIGURING", "REQUEUED", "REQUEUE_FED", "REQUEUE_HOLD", "RESV_DEL_HOLD", "SPECIAL_EXIT")
_NUMBER = re.compile(r"[0-9]+")
_PREAMBLE = re.compile(r"^\w+: (error|fatal): (Job submit/allocate failed: |Unable to allocate resources: )?")
_TASKS = re.compile(r"([0-9]+)(?:\(x([0-9]+)\))?")

# What a session needs to know of its allocation.
ALLOCATION = (
    "SLURM_JOB_ID", "SLURM_JOB_NODELIST", "SLURM_JOB_NUM_NODES", "SLURM_TASKS_PER_NODE", "SLURM_CPUS_PER_TASK",
    "SLURM_JOB_CPUS_PER_NODE", "SLURM_NTASKS",
)  # fmt: skip
# What Slurm's commands get of our variables, and with them what they start on nodes: that isn't encrypted on its way.
PASSED = ("PYTHONPATH", "SLURM_CONF")
PREFIXES = ("LC_", "SALLOC_")


class SlurmUnavailable(WorkshopError):
    """Slurm's controller doesn't answer now, but may answer later."""


@dataclass(frozen=True)
class Job:
    """A job as squeue describes it."""

    number: str
    state: str  # PENDING, RUNNING, COMPLETING, TIMEOUT, …
    reason: str = "None"  # why it waits, or ended
    start: str = "N/A"  # when it began, or may begin
    nodes: str = ""  # in Slurm's short form, n[1-3]
    count: int = 0  # of the nodes that it has or wants

    @property
    def waits(self) -> bool:
        return self.state in WAITING

    @property
    def describe(self) -> str:
        return self.state if self.reason in ("None", "") else f"{self.state} ({self.reason})"


def installed() -> None:
    """Raises BadInput where Slurm's commands are not installed."""
    for name in ("salloc", "squeue", "scancel", "srun", "scontrol"):
        if shutil.which(name) is None:
            raise BadInput(
                f"Slurm's {name} is not on this machine's PATH: start the session on a login node of the cluster, or "
                "without --slurm."
            )


def read_job(line: str) -> Job:
    """One line of squeue in FORMAT. Raises WorkshopError for anything else."""
    words = line.strip().split("|")
    if len(words) != FORMAT.count("|") + 1 or not _NUMBER.match(words[0]) or not words[5].isdecimal():
        raise WorkshopError(f"squeue says what nobody understands: {line[:200]!r}")
    number, state, reason, start, nodes, count = words
    return Job(number, state, reason, start, nodes, int(count))


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
    try:
        return ", ".join(dict.fromkeys(_ask(command).stdout.split("\n"))).strip(", ")
    except SlurmUnavailable:
        return ""


def job(number: str) -> Job | None:
    """A job as squeue describes it; None where Slurm has forgotten it. Raises SlurmUnavailable."""
    reply = _ask(["squeue", "-h", "-t", "all", "-o", FORMAT, "-j", number])
    if reply.returncode != 0:
        if "invalid job id" in reply.stderr.lower():
            return None
        raise SlurmUnavailable(f"Slurm does not answer: {refusal(reply.stderr)}")
    lines = reply.stdout.strip().splitlines()
    return read_job(lines[0]) if lines else None


def named(name: str) -> list[str]:
    """The numbers of this user's unfinished jobs with that name. Raises SlurmUnavailable."""
    reply = _ask(["squeue", "-h", "-o", "%i", "-n", name, "-u", str(os.geteuid())])
    if reply.returncode != 0:
        raise SlurmUnavailable(f"Slurm does not answer: {refusal(reply.stderr)}")
    return reply.stdout.split()


def cancel(number: str) -> None:
    """End a waiting or running job; an ended job is no error. Raises SlurmUnavailable."""
    completed = _ask(["scancel", number])
    if completed.returncode != 0 and "invalid job id" not in completed.stderr.lower():
        raise SlurmUnavailable(f"Slurm does not answer: {refusal(completed.stderr)}")


def hostnames(nodes: str) -> list[str]:
    """The names behind Slurm's short form, n[1-3]. Raises SlurmUnavailable."""
    completed = _ask(["scontrol", "show", "hostnames", nodes])
    if completed.returncode != 0 or not completed.stdout.split():
        raise SlurmUnavailable(f"Slurm does not tell the names of {nodes}: {refusal(completed.stderr)}")
    return completed.stdout.split()


def address(node: str) -> str:
    """The address or name at which Slurm itself finds a node. Raises SlurmUnavailable."""
    completed = _ask(["scontrol", "show", "node", node])
    match = re.search(r"\bNodeAddr=(\S+)", completed.stdout)
    if completed.returncode != 0 or match is None:
        raise SlurmUnavailable(f"Slurm does not tell where its node {node} is: {refusal(completed.stderr)}")
    return match[1]


def slots(allocation: Mapping[str, str]) -> str:
    """Slurm's tasks on each node, 2(x3),1, as slots: a rank may be started on every core that was asked for; where no
    tasks were asked for, on every core. Raises WorkshopError for what can't be read."""
    tasks = "SLURM_NTASKS" in allocation or "SLURM_CPUS_PER_TASK" in allocation
    each = int(allocation.get("SLURM_CPUS_PER_TASK") or 1)
    parts = []
    for part in allocation["SLURM_TASKS_PER_NODE" if tasks else "SLURM_JOB_CPUS_PER_NODE"].split(","):
        match = _TASKS.fullmatch(part)
        if match is None:
            raise WorkshopError(f"Slurm's tasks per node are {part!r}, which nobody understands")
        times = f"(x{match[2]})" if match[2] else ""
        parts.append(f"{int(match[1]) * each}{times}")
    return ",".join(parts)


def per_node(counts: str) -> list[int]:
    """Slurm's short form of a number on each node, 2(x3),1, as a list."""
    return [int(each) for each, times in _TASKS.findall(counts) for _ in range(int(times or 1))]


def environment() -> dict[str, str]:
    """The variables for Slurm's commands: no secrets, and none of an allocation around this process."""
    names = (*site.BASIC, *PASSED)
    return {name: value for name, value in os.environ.items() if name in names or name.startswith(PREFIXES)}


def _ask(command: list[str] | tuple[str, ...]) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=COMMAND_SECONDS, env=environment())
    except FileNotFoundError:
        raise BadInput(f"Slurm's {command[0]} is not on this machine's PATH.") from None
    except subprocess.TimeoutExpired:
        raise SlurmUnavailable(f"Slurm's {command[0]} has not answered within {COMMAND_SECONDS:.0f} s") from None
