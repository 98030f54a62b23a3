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
ANSWERED = 60.0  # seconds within which salloc must have said a number, and a running job its variables
ENDED = 5.0  # seconds that salloc gets to give an allocation back
_NUMBER = re.compile(r"job allocation ([0-9]+)")


class Allocation:
    """A job of Slurm that was asked for with these options of salloc; its messages are in files of the folder."""

    def __init__(self, request: list[str], name: str, folder: Path, give_up: Callable[[], bool]) -> None:
        """Raises BadInput with salloc's own words, and what to change, where it refuses."""
        self.folder = folder
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
        self.number = self._wait(lambda: _NUMBER.search(self._messages_file.read_text()), give_up)[1]
        _write(folder / JOB, {"name": name, "job": self.number})

    def variables(self, give_up: Callable[[], bool]) -> dict[str, str]:
        """Slurm's variables of the running job."""
        match = self._wait(lambda: re.fullmatch(r"(.*)\n\n", self._variables_file.read_text(), re.DOTALL), give_up)
        return dict(line.partition("=")[::2] for line in match[1].splitlines())

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

    def _wait(self, look: Callable[[], re.Match[str] | None], give_up: Callable[[], bool]) -> re.Match[str]:
        """Wait for what salloc or its shell tells. Raises BadInput where salloc refuses."""
        deadline = time.monotonic() + ANSWERED
        while True:
            ended = self._process.poll() is not None
            if match := look():
                return match
            messages = self._messages_file.read_text(errors="replace")
            if ended:
                raise BadInput(f"Slurm {REFUSES} {commands.refusal(messages)}. {commands.advice(messages)}")
            if time.monotonic() > deadline:
                raise WorkshopError(f"salloc has told nothing within {ANSWERED:.0f} s; it says: {messages[-300:]!r}")
            commands.pause(0.05, give_up)


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
