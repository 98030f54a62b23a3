"""How a job waits in Slurm's queue, and why Slurm has ended it, in sentences for people."""

from __future__ import annotations

import time
from collections.abc import Callable

from workshop.core.errors import WorkshopError
from workshop.sessions.launchers.slurm import commands
from workshop.sessions.launchers.slurm.commands import Job, SlurmUnavailable

FIRST, SLOWER, CALM = 0.25, 1.5, 5.0  # seconds to the second question, factor from then on, and seconds at most


def wait(number: str, patience: float, say: Callable[[str], None], give_up: Callable[[], bool]) -> Job | None:
    """Wait until a job leaves the queue, for at most `patience` seconds. Returns the job, or None where Slurm has
    forgotten it. `say` gets the state and the reason whenever they change.

    Raises WorkshopError where the time is up or nobody waits any longer.
    """
    deadline, seconds, last_words = time.monotonic() + patience, FIRST, ""
    while True:
        try:
            job = commands.job(number)
            if job is None or not job.waits:
                return job
            state = job.describe
            words = f"waiting in Slurm's queue, job {number}: {state}"
            if job.start not in ("N/A", ""):
                words += f", may start at {job.start.replace('T', ' ')}"
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
    "DEADLINE": "its deadline was reached",
    "PREEMPTED": "another job took its place (preemption)",
    "SUSPENDED": "it was suspended, for another job or by an administrator",
    "STOPPED": "it was stopped by an administrator",
    "NODE_FAIL": "one of its nodes ({nodes}) failed",
    "BOOT_FAIL": "one of its nodes ({nodes}) failed to start",
    "CANCELLED": "somebody cancelled it (scancel)",
    "OUT_OF_MEMORY": "its processes took more memory than it has",
    "FAILED": "it failed",
    "COMPLETED": "it ended",
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
