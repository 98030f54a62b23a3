"""An allocation of Slurm that a process of salloc holds for as long as this process lives.

salloc runs a shell that tells the allocation's variables and waits for the end of its input, which comes when this
process ends, however it ends. Then the shell gives the allocation back, also where salloc itself was killed.
"""

from __future__ import annotations

import contextlib
import json
import re
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from workshop.core.errors import BadInput, WorkshopError
from workshop.core.parent_death import guarded
from workshop.mpi import REFUSES
from workshop.sessions.launchers.slurm import commands

JOB = "slurm-job.json"  # the session's file that says which job is its own, for whoever comes after a power cut
PROGRAM = "env | grep ^SLURM_; echo; exec >&2; cat >/dev/null; scancel $SLURM_JOB_ID"
LOOK, EVERY = 0.1, 1.0  # seconds between looks at what salloc says, and between questions about the queue
ENDED = 5.0  # seconds that salloc gets to give an allocation back
_NUMBER = re.compile(r"job allocation ([0-9]+)")


class Allocation:
    """A job of Slurm that was asked for with these options of salloc; its messages are in files of the folder."""

    def __init__(self, request: list[str], name: str, folder: Path) -> None:
        self.folder, self.name, self.number = folder, name, ""
        self._variables_file, self._messages_file = folder / "slurm-variables.txt", folder / "slurm-job.out"
        _write(folder / JOB, {"name": name, "job": None})  # known by its name before it has a number
        command = guarded(["salloc", "--no-bell", f"--job-name={name}", *request, "sh", "-c", PROGRAM])
        with open(self._variables_file, "wb") as variables, open(self._messages_file, "wb") as messages:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=variables,
                stderr=messages,
                env=commands.environment(),
                cwd=folder,
            )

    def wait(self, patience: float, say: Callable[[str], None], give_up: Callable[[], bool]) -> dict[str, str]:
        """Slurm's variables of the job, once it runs. `say` gets the state in the queue and its reason whenever they
        change. Raises BadInput with salloc's own words, and what to change, where it refuses, and WorkshopError where
        the job ends, takes longer than `patience` seconds, or nobody waits any longer."""
        deadline, looked, words = time.monotonic() + patience, 0.0, ""
        while True:
            ended = self._process.poll() is not None
            running = re.fullmatch(r"(.*)\n\n", self._variables_file.read_text(), re.DOTALL)
            messages = self._messages_file.read_text(errors="replace")
            if not self.number and (granted := _NUMBER.search(messages)):
                self.number = granted[1]
                _write(self.folder / JOB, {"name": self.name, "job": self.number})
            if running:
                return dict(line.partition("=")[::2] for line in running[1].splitlines())
            if ended and not self.number:
                raise BadInput(f"Slurm {REFUSES} {commands.refusal(messages)}. {commands.advice(messages)}")
            if ended:
                raise WorkshopError(commands.lost(self.number, None) or f"salloc has ended: {messages[-300:]}")
            now = time.monotonic()
            if self.number and now - looked > EVERY:
                before, looked, words = words, now, self._state()
                if words != before:
                    say(f"waiting in Slurm's queue, job {self.number}: {words}")
            if now > deadline:
                raise WorkshopError(
                    f"The job {self.number} has waited {patience / 60:g} minutes in Slurm's queue, now {words}; give "
                    "the session more with --wait, or ask for less."
                )
            if give_up():
                raise WorkshopError("the session was asked to end while it waited for Slurm")
            time.sleep(LOOK)

    def _state(self) -> str:
        try:
            job = commands.job(self.number)
        except WorkshopError as error:
            return f"{error} Asking again."
        if job is None or job.start in ("N/A", ""):
            return str(job or "unknown")
        return f"{job}, may start at {job.start.replace('T', ' ')}"

    def release(self) -> None:
        """Give the allocation back."""
        if self._process.stdin is not None:
            with contextlib.suppress(OSError):
                self._process.stdin.close()
        self._process.terminate()
        try:
            self._process.wait(ENDED)
        except subprocess.TimeoutExpired:
            self._process.kill()


def clear_up(folder: Path) -> None:
    """End the job of a session, also where only its name is known. Never raises."""
    file = folder / JOB
    try:
        record = json.loads(file.read_text())
        for number in [record["job"]] if record["job"] else commands.named(record["name"]):
            commands.cancel(number)
        file.unlink(missing_ok=True)
    except FileNotFoundError:
        return
    except (WorkshopError, OSError, ValueError, KeyError) as error:
        print(f"the job of this session could not be cancelled: {error}", file=sys.stderr)


def _write(file: Path, record: Mapping[str, str | None]) -> None:
    new = file.with_suffix(".new")
    new.write_text(json.dumps(record))
    new.rename(file)
