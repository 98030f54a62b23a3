"""OpenFL's commands as child processes, exactly as a person would type them, each with a time limit and a log.

A server in OpenFL's environment (`scripts/server.py`) imports TensorFlow once, and forks the commands. The server ends
with its rank, also after kill -9, and the commands end with the server.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import re
import shlex
import signal
import subprocess
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from workshop.core.errors import WorkshopError
from workshop.core.parent_death import guarded

SCRIPTS = Path(__file__).parent / "scripts"
READY = 240.0  # seconds until TensorFlow has to be imported, also on a busy machine
SECONDS = 180.0  # for a command that does one thing
GRACE = 3.0  # seconds from the request to end until a command is killed
EVERY = 0.05  # seconds between two looks at the commands
LOG_LIMIT = 256 << 10  # bytes of a log that are kept with a run
REMOVED = re.compile(r"^(OMPI_|PMIX_|PRTE_|PYTHON|VIRTUAL_ENV|KERAS_|LD_|.*_proxy$)", re.I)
LOG = {"LOG_FILE": "logs/fx.log"}  # OpenFL's setting for a log without the terminal's layout
_COLOURS = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_KEY = re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(-----END [A-Z ]*PRIVATE KEY-----|\Z)", re.S)


@dataclass
class FxCommand:
    """A command that was started. `where` is the party that runs it; `code` is None while it runs, and negative for the
    signal that ended it."""

    words: str
    where: str
    log: Path
    limit: float
    number: int
    began: float = field(default_factory=time.monotonic)
    code: int | None = None
    seconds: float | None = None
    late: bool = False  # whether it was ended because its time was up
    end_requested: float | None = None  # when the request to end was sent

    @property
    def running(self) -> bool:
        return self.code is None

    def as_json(self) -> dict[str, Any]:
        """Return the command for the metric `fx`."""
        seconds = None if self.seconds is None else round(self.seconds, 3)
        return {"command": self.words, "where": self.where, "seconds": seconds, "code": self.code}

    def last_words(self) -> str:
        """Return the end of its log in one line."""
        lines = [line.strip() for line in log_tail(self.log).decode(errors="replace").splitlines()]
        return " ".join([line for line in lines if line and not set(line) <= set("─━│╭╮╰╯ ")][-3:])[-300:]


class Fx:
    """The server and all commands that it has run."""

    def __init__(
        self, python: Path, folder: Path, cores: Collection[int] = (), variables: Mapping[str, str] | None = None
    ) -> None:
        """`folder` is private to the run; it gets the server's log and the commands' home folder. Commands run on the
        processing units `cores`; empty: on those of this process."""
        self.commands: list[FxCommand] = []
        self.turn: Callable[[], None] = lambda: None  # called again and again in `wait`; an exception ends the wait
        self._ready = False
        self._began = time.monotonic()
        home = folder / "home"  # a user's ~/.openfl could change the commands
        home.mkdir(mode=0o700, exist_ok=True)
        self._log = folder / "server.log"
        with open(self._log, "ab") as log:
            self._process = subprocess.Popen(
                guarded([str(python), str(SCRIPTS / "server.py")], expendable=True),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                cwd=folder,
                env=_environment(os.environ, home) | dict(variables or {}),
            )
        if cores:
            os.sched_setaffinity(self._process.pid, cores)
        assert self._process.stdin is not None and self._process.stdout is not None
        self._input, self._output = self._process.stdin, self._process.stdout
        os.set_blocking(self._output.fileno(), False)
        self._unread = b""

    def start(self, words: str, where: str, cwd: Path, log: Path, limit: float = SECONDS) -> FxCommand:
        """Start a command line that begins with `fx`, or with a file of `scripts`. It may take `limit` seconds. An
        infinite limit is for processes that take part in the federation; they also write OpenFL's log."""
        argv = shlex.split(words)
        if argv[0] != "fx":
            argv[0] = str(SCRIPTS / argv[0])
        command = FxCommand(words, where, log, limit, len(self.commands))
        self.commands.append(command)
        variables = LOG if math.isinf(limit) else {}
        self._send({"id": command.number, "argv": argv, "cwd": str(cwd), "log": str(log), "env": variables})
        return command

    def wait(self, *commands: FxCommand) -> None:
        """Wait until all commands have ended. Raises WorkshopError where one fails or takes too long."""
        while True:
            self.look()
            for command in commands:
                if command.code:
                    why = f"within {command.limit:.0f} s" if command.late else f"(exit code {command.code})"
                    raise WorkshopError(
                        f"`{command.words}` of {command.where} did not succeed {why}; it says: {command.last_words()}"
                    )
            if not any(command.running for command in commands):
                return
            self.turn()
            time.sleep(EVERY)

    def signal(self, command: FxCommand, number: int) -> None:
        """Send a command a signal, unless it has ended."""
        if command.running:
            self._send({"id": command.number, "signal": number})

    def end(self, command: FxCommand) -> None:
        """Ask a command to end, as Ctrl-C does; it is killed after `GRACE`."""
        if command.running and command.end_requested is None:
            command.end_requested = time.monotonic()
            self.signal(command, signal.SIGINT)

    def look(self) -> None:
        """Read the server's answers, and end commands that take too long. Raises WorkshopError where the server has
        ended."""
        with contextlib.suppress(BlockingIOError):
            while data := os.read(self._output.fileno(), 1 << 16):
                self._unread += data
        *lines, self._unread = self._unread.split(b"\n")
        now = time.monotonic()
        for line in lines:
            self._read_answer(json.loads(line), now)
        if self._process.poll() is not None:
            words = " ".join(log_tail(self._log).decode(errors="replace").split())[-300:]
            raise WorkshopError(
                f"OpenFL's environment has ended unexpectedly (exit code {self._process.returncode}); it says: {words}"
            )
        if not self._ready and now - self._began > READY:
            raise WorkshopError(f"TensorFlow was not imported within {READY:.0f} s in OpenFL's environment.")
        for command in self.commands if self._ready else ():
            if command.end_requested is not None and now - command.end_requested > GRACE:
                self.signal(command, signal.SIGKILL)
            elif command.end_requested is None and now - command.began > command.limit:
                command.late = True
                self.end(command)

    def close(self) -> None:
        """End everything."""
        with contextlib.suppress(OSError):
            self._input.close()  # then the server kills its children and ends
        try:
            self._process.wait(GRACE)
        except subprocess.TimeoutExpired:  # the server is still importing, and doesn't read
            self._process.kill()
            self._process.wait(GRACE)
        self._output.close()

    def _read_answer(self, answer: Mapping[str, Any], now: float) -> None:
        if "ready" in answer:
            self._ready = True
            for command in self.commands:
                command.began = now  # requests before this moment only start now
        elif "code" in answer:
            command = self.commands[answer["id"]]
            command.code, command.seconds = int(answer["code"]), now - command.began

    def _send(self, message: Mapping[str, Any]) -> None:
        with contextlib.suppress(BrokenPipeError):  # `look` raises the reason
            self._input.write(json.dumps(message).encode() + b"\n")
            self._input.flush()


def log_tail(log: Path, most: int = LOG_LIMIT) -> bytes:
    """Return the end of a log, without colours, and without any private key that was written there."""
    try:
        with open(log, "rb") as file:
            file.seek(max(file.seek(0, os.SEEK_END) - most, 0))
            text = file.read(most).decode(errors="replace")
    except OSError:
        return b""
    return _KEY.sub("(a private key was here)", _COLOURS.sub("", text)).encode()


def _environment(variables: Mapping[str, str], home: Path) -> dict[str, str]:
    """Return a rank's variables without those of MPI and Python, and without proxies, which gRPC would use even for
    this machine."""
    remaining = {name: value for name, value in variables.items() if not REMOVED.match(name)}
    return remaining | {
        "HOME": str(home),
        "TMPDIR": str(home),
        "CUDA_VISIBLE_DEVICES": "",
        "TF_CPP_MIN_LOG_LEVEL": "3",
        "TF_ENABLE_ONEDNN_OPTS": variables.get("TF_ENABLE_ONEDNN_OPTS", "1"),
        "PYTHONUNBUFFERED": "1",
        "COLUMNS": "160",
    }
