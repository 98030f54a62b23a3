"""Slurm's commands and their answers: sbatch, squeue, scancel, sinfo, scontrol. Each call has a time limit."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from workshop.core.errors import BadInput, WorkshopError
from workshop.mpi import REFUSES
from workshop.sessions.launchers import site

SECONDS = 20.0  # that a command may take: a busy controller is slow
FORMAT = "%i|%T|%r|%S|%N|%D"
WAITING = ("PENDING", "CONFIGURING", "REQUEUED", "REQUEUE_FED", "REQUEUE_HOLD", "RESV_DEL_HOLD", "SPECIAL_EXIT")
_NUMBER = re.compile(r"[0-9]+")
_PREAMBLE = re.compile(r"^\w+: (error|fatal): (Batch job submission failed: |Unable to allocate resources: )?")
_TASKS = re.compile(r"([0-9]+)(?:\(x([0-9]+)\))?")

# What is set there comes before the same in the script, so a name that was typed would mean nothing.
OVERRIDES = {
    "partition": "SBATCH_PARTITION",
    "account": "SBATCH_ACCOUNT",
    "time": "SBATCH_TIMELIMIT",
}
# What Slurm's commands get of our variables, and with them what they start on nodes: that isn't encrypted on its way.
# The last ones are what a script with `module load` needs.
PASSED = ("PYTHONPATH", "SLURM_CONF", "MODULEPATH", "MODULESHOME", "LOADEDMODULES", "_LMFILES_", "BASH_ENV")
PREFIXES = ("LC_", "SBATCH_", "LMOD_", "_ModuleTable", "BASH_FUNC_")


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
    for name in ("sbatch", "squeue", "scancel", "srun", "scontrol"):
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


def submit(script: str, folder: Path, chosen: Mapping[str, object], name: str, output: Path) -> str:
    """Submit a script from a folder; `chosen` are the values that a person chose. Returns the job's number.

    The job's `name` and the file for its `output` are ours, whatever the script says of them.

    Raises BadInput with sbatch's own words, and what to change, where it refuses.
    """
    unset = {variable for name, variable in OVERRIDES.items() if chosen.get(name) is not None}
    file = str(output).replace("%", "%%")  # %j is sbatch's
    ours = ["--no-requeue", f"--chdir={folder}", f"--job-name={name}", f"--output={file}"]
    reply = _ask(["sbatch", "--parsable", *ours], stdin=script, without=unset)
    if reply.returncode != 0:
        raise BadInput(f"Slurm {REFUSES} {refusal(reply.stderr)}. {_advice(reply.stderr)}")
    number = reply.stdout.strip().splitlines()[-1].partition(";")[0] if reply.stdout.strip() else ""
    if not _NUMBER.fullmatch(number):
        raise WorkshopError(f"sbatch says what nobody understands: {reply.stdout[:200]!r}")
    return number


def refusal(words: str) -> str:
    """The message of a command that refuses, without its preamble and repetitions."""
    lines = dict.fromkeys(_PREAMBLE.sub("", line).strip().rstrip(".") for line in words.splitlines())
    return "; ".join(line for line in lines if line)[:500] or "nothing"


def _advice(words: str) -> str:
    """Advice on a job that sbatch refuses."""
    low = words.lower()
    if "partition" in low and "account" not in low and "limit" not in low:
        return f"Give --partition one of {_answer('sinfo', '-h', '-o', '%R') or 'those that sinfo lists'}."
    if "account" in low:
        return "Give --account (and --partition) one of yours; `sacctmgr show associations user=$USER` lists them."
    if "time limit" in low:
        limits = _answer("sinfo", "-h", "-o", "%R %l")
        return f"Give --time fewer minutes{f'; partitions allow at most: {limits}' if limits else ''}."
    return "Change the placement, the options behind --slurm or the template."


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


def slots(tasks_per_node: str, cores_per_task: int) -> str:
    """Slurm's tasks on each node, 2(x3),1, as slots: a rank may be started on every core that was asked for. Raises
    WorkshopError for what can't be read."""
    parts = []
    for part in tasks_per_node.split(","):
        match = _TASKS.fullmatch(part)
        if match is None:
            raise WorkshopError(f"Slurm's tasks per node are {tasks_per_node!r}, which nobody understands")
        times = f"(x{match[2]})" if match[2] else ""
        parts.append(f"{int(match[1]) * cores_per_task}{times}")
    return ",".join(parts)


def environment(without: set[str] | frozenset[str] = frozenset()) -> dict[str, str]:
    """The variables for Slurm's commands: no secrets, none of an allocation around this process, and none in
    `without`."""
    return {
        name: value
        for name, value in os.environ.items()
        if name not in without and (name in site.BASIC or name in PASSED or name.startswith(PREFIXES))
    }


def _ask(
    command: list[str] | tuple[str, ...], stdin: str = "", without: set[str] | frozenset[str] = frozenset()
) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(
            command, input=stdin, capture_output=True, text=True, timeout=SECONDS, env=environment(without)
        )
    except FileNotFoundError:
        raise BadInput(f"Slurm's {command[0]} is not on this machine's PATH.") from None
    except subprocess.TimeoutExpired:
        raise SlurmUnavailable(f"Slurm's {command[0]} has not answered within {SECONDS:.0f} s") from None
