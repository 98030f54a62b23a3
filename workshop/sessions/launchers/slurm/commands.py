"""Slurm's commands and their answers: squeue, scancel, sinfo, scontrol. Each call has a time limit.

Also how a job waits in Slurm's queue, and why Slurm has ended it, in sentences for people.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from workshop.core.errors import BadInput, WorkshopError
from workshop.sessions.launchers import site

COMMAND_SECONDS = 20.0  # that a command may take: a busy controller is slow
FORMAT = "%i|%T|%r|%S|%N"
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
    if len(words) != FORMAT.count("|") + 1 or not _NUMBER.match(words[0]):
        raise WorkshopError(f"squeue says what nobody understands: {line[:200]!r}")
    number, state, reason, start, nodes = words
    return Job(number, state, reason, start, nodes)


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


FIRST, SLOWER, CALM = 0.25, 1.5, 5.0  # seconds to the second question, factor from then on, and seconds at most


def wait_in_queue(number: str, patience: float, say: Callable[[str], None], give_up: Callable[[], bool]) -> Job | None:
    """Wait until a job leaves the queue, for at most `patience` seconds. Returns the job, or None where Slurm has
    forgotten it. `say` gets the state and the reason whenever they change.

    Raises WorkshopError where the time is up or nobody waits any longer.
    """
    deadline, seconds, last_words = time.monotonic() + patience, FIRST, ""
    while True:
        try:
            waiting = job(number)
            if waiting is None or not waiting.waits:
                return waiting
            state = waiting.describe
            words = f"waiting in Slurm's queue, job {number}: {state}"
            if waiting.start not in ("N/A", ""):
                words += f", may start at {waiting.start.replace('T', ' ')}"
        except SlurmUnavailable as silent:
            state = words = f"{silent}; asking again"
        if words != last_words:
            last_words = words
            say(words)
        pause(seconds, give_up)
        seconds = min(seconds * SLOWER, CALM)
        if time.monotonic() > deadline:
            raise WorkshopError(
                f"The job {number} has waited {patience / 60:g} minutes in Slurm's queue, now {state}; give the "
                "session more with --wait, or ask for less."
            )


def pause(seconds: float, give_up: Callable[[], bool]) -> None:
    """Wait for some seconds. Raises WorkshopError as soon as `give_up` says that nobody waits any longer."""
    deadline = time.monotonic() + seconds
    while (remaining := deadline - time.monotonic()) > 0:
        unless(give_up)
        time.sleep(min(remaining, 0.1))


def unless(give_up: Callable[[], bool]) -> None:
    """Raises WorkshopError where `give_up` says that nobody waits any longer."""
    if give_up():
        raise WorkshopError("the session was asked to end while it waited for Slurm")


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
        return f"{which}: {job.describe}"
    return f"{which}: " + ENDINGS[state].format(
        minutes=f" of {minutes} minute{'s' if minutes != 1 else ''}" if minutes else "",
        nodes=job.nodes,
    )
