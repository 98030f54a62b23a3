"""Why Slurm has ended a job, in one sentence."""

from __future__ import annotations

from workshop.runtime.launchers.slurm.commands import Job

# By the state that squeue tells.
ENDINGS = {
    "TIMEOUT": "its time limit{minutes} was reached; start the session with a longer --time",
    "DEADLINE": "its deadline was reached",
    "PREEMPTED": "another job took its place (preemption)",
    "SUSPENDED": "it was suspended, for another job or by an administrator",
    "STOPPED": "it was stopped by an administrator",
    "NODE_FAIL": "one of its nodes ({nodes}) failed",
    "BOOT_FAIL": "one of its nodes ({nodes}) failed to start",
    "CANCELLED": "somebody cancelled it (scancel)",
    "OUT_OF_MEMORY": "its processes took more memory than it has",
    "FAILED": "its script failed{output}",
    "COMPLETED": "its script ended{output}",
    "PENDING": "it was put back into the queue",
}
# By the reason that squeue tells of a job which is ending, and whose state doesn't say how yet.
REASONS = {"TimeLimit": "TIMEOUT", "NodeFail": "NODE_FAIL", "Preempted": "PREEMPTED"}


def sentence(number: str, job: Job | None, minutes: int | None, output: str) -> str:
    """Why a job doesn't run any longer. `minutes` is its time limit where one was asked for, `output` the last line
    that it printed; None for a job that Slurm doesn't know."""
    which = f"Slurm ended the allocation {number}"
    if job is None:
        return f"{which}: it does not know it any longer"
    state = REASONS.get(job.reason, job.state) if job.state in ("COMPLETING", "FAILED") else job.state
    if state not in ENDINGS:
        return f"{which}: {job.describe}"
    return f"{which}: " + ENDINGS[state].format(
        minutes=f" of {minutes} minute{'s' if minutes != 1 else ''}" if minutes else "",
        nodes=job.nodes,
        output=f" ({output})" if output else "",
    )
