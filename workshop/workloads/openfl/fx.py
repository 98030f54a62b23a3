"""OpenFL's commands as child processes, exactly as a person would type them.

Each imports TensorFlow, which takes five to ten seconds. All of them end with the rank, also after kill -9.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from workshop.core.errors import WorkshopError
from workshop.core.parent_death import guarded
from workshop.core.patience import patient

CERTIFICATES = Path(__file__).parent / "scripts" / "certificates.py"
COMMAND_SECONDS = 180.0  # for a command that does one thing
EVERY = 0.1  # seconds between two looks at the commands
LOG_LIMIT = 256 << 10  # bytes of a log that are kept with a run
REMOVED = re.compile(r"^(OMPI_|PMIX_|PRTE_|PYTHON|VIRTUAL_ENV|KERAS_|LD_|.*_proxy$)", re.I)
LOG = "logs/fx.log"  # OpenFL's own log of an aggregator or a collaborator, without the terminal's layout
_COLOURS = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_KEY = re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(-----END [A-Z ]*PRIVATE KEY-----|\Z)", re.S)


@dataclass
class FxCommand:
    """A command that was started. `where` is the party that runs it."""

    words: str
    where: str
    log: Path
    process: subprocess.Popen[bytes]
    began: float = field(default_factory=time.monotonic)
    seconds: float | None = None  # how long it took

    @property
    def code(self) -> int | None:
        """Its exit code; None while it runs, and negative for the signal that ended it."""
        code = self.process.poll()
        if code is not None and self.seconds is None:
            self.seconds = time.monotonic() - self.began
        return code

    def as_json(self) -> dict[str, Any]:
        """Return the command for the metric `fx`."""
        return {"where": self.where, "code": self.code, "seconds": self.seconds, "command": self.words}

    def last_words(self) -> str:
        """Return the end of its log in one line."""
        lines = [line.strip() for line in log_tail(self.log).decode(errors="replace").splitlines()]
        return " ".join([line for line in lines if line and not set(line) <= set("─━│╭╮╰╯ ")][-3:])[-300:]


class Fx:
    """Runs OpenFL's commands."""

    def __init__(self, python: Path, folder: Path, cores: Collection[int]) -> None:
        """`folder` is private to the run; it gets the commands' home folder. Commands run on the processing units
        `cores`."""
        self.commands: list[FxCommand] = []
        self.turn: Callable[[], None] = lambda: None  # called repeatedly in `wait`; an exception ends the wait
        self._python, self._cores = python, cores
        home = folder / "home"  # a user's ~/.openfl could change the commands
        home.mkdir(exist_ok=True)
        self._environment = environment(home)

    def start(self, words: str, where: str, cwd: Path, log: Path, takes_part: bool = False) -> FxCommand:
        """Start a command line that begins with `fx`. One that takes part in the federation also writes `LOG`."""
        with open(log, "ab") as written:
            process = subprocess.Popen(
                guarded([str(self._python), "-m", "openfl.interface.cli", *shlex.split(words)[1:]], expendable=True),
                cwd=cwd,
                env=self._environment | ({"LOG_FILE": LOG} if takes_part else {}),
                stdin=subprocess.DEVNULL,
                stdout=written,
                stderr=written,
            )
        os.sched_setaffinity(process.pid, self._cores)
        self.commands.append(FxCommand(words, where, log, process))
        return self.commands[-1]

    def wait(self, *commands: FxCommand) -> None:
        """Wait until all commands have ended. Raises WorkshopError where one fails or takes too long."""
        deadline = time.monotonic() + patient(COMMAND_SECONDS)
        while any(command.code is None for command in commands) and time.monotonic() < deadline:
            self.turn()
            time.sleep(EVERY)
        for command in commands:
            if command.code != 0:
                why = f"within {COMMAND_SECONDS:.0f} s" if command.code is None else f"(exit code {command.code})"
                raise WorkshopError(
                    f"`{command.words}` of {command.where} did not succeed {why}; it says: {command.last_words()}"
                )

    def certificates(self, chain: Path, files: Sequence[Path]) -> list[dict[str, Any]]:
        """Return what is in certificates; `chain` holds the authorities that may have signed them."""
        command = guarded([str(self._python), str(CERTIFICATES), str(chain), *map(str, files)])
        described: list[dict[str, Any]] = json.loads(subprocess.check_output(command, env=self._environment))
        return described

    def close(self) -> None:
        """End everything at once."""
        for command in self.commands:
            command.process.kill()
        for command in self.commands:
            command.process.wait()


def log_tail(log: Path) -> bytes:
    """Return the end of a log, without colours, and without any private key that was written there."""
    text = log.read_bytes()[-LOG_LIMIT:].decode(errors="replace") if log.exists() else ""
    return _KEY.sub("(a private key was here)", _COLOURS.sub("", text)).encode()


def environment(home: Path) -> dict[str, str]:
    """Return a rank's variables without those of MPI and Python, and without proxies, which gRPC would use even for
    this machine."""
    variables = {name: value for name, value in os.environ.items() if not REMOVED.match(name)}
    folders = dict.fromkeys(("HOME", "TMPDIR"), str(home))
    return variables | folders | {"CUDA_VISIBLE_DEVICES": "", "TF_CPP_MIN_LOG_LEVEL": "3", "COLUMNS": "160"}
