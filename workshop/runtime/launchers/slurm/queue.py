"""Waiting in Slurm's queue: with words for people, at a calm rate, for a limited time, and only as long as somebody
wants to."""

from __future__ import annotations

import time
from collections.abc import Callable

from workshop.core.errors import WorkshopError
from workshop.runtime.launchers.slurm import commands
from workshop.runtime.launchers.slurm.commands import Job, SlurmUnavailable

FIRST, SLOWER, CALM = 0.25, 1.5, 5.0  # seconds to the second question, factor from then on, and seconds at most


def wait(number: str, patience: float, say: Callable[[str], None], give_up: Callable[[], bool]) -> Job | None:
    """Wait until a job doesn't wait any longer, for at most `patience` seconds: it runs, has ended, or Slurm has
    forgotten it (None). `say` is told the queue's state and reason whenever they change.

    Raises WorkshopError where it has waited too long, or nobody wants it any longer.
    """
    deadline, seconds, said = time.monotonic() + patience, FIRST, ""
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
        if words != said:
            said = words
            say(words)
        pause(seconds, give_up)
        seconds = min(seconds * SLOWER, CALM)
        if time.monotonic() > deadline:
            raise WorkshopError(
                f"The job {number} has waited {patience / 60:g} minutes in Slurm's queue, now {state}; give the "
                "session more with --wait, or ask for less."
            )


def pause(seconds: float, give_up: Callable[[], bool]) -> None:
    """Wait so long. Raises WorkshopError as soon as nobody wants to any longer."""
    deadline = time.monotonic() + seconds
    while (left := deadline - time.monotonic()) > 0:
        unless(give_up)
        time.sleep(min(left, 0.1))


def unless(give_up: Callable[[], bool]) -> None:
    """Raises WorkshopError where nobody wants to wait any longer."""
    if give_up():
        raise WorkshopError("the session was asked to end while it waited for Slurm")
