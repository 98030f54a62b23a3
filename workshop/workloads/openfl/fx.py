"""OpenFL's commands as a rank runs them: exactly what somebody could type, each with a time limit and a log.

All of a rank's commands are children of one server in OpenFL's environment (`scripts/server`), which imports TensorFlow
once. The server ends with its rank, also after kill -9, and its children with it. Nothing here waits: `look` is to be
called again and again, and who needs a command's result yields until it is there.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shlex
import signal
import subprocess
import time
from collections.abc import Generator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from workshop.core.errors import WorkshopError
from workshop.core.parent_death import guarded

Steps = Generator[None, None, Any]  # what a rank does over time: it yields wherever it has to wait

SCRIPTS = Path(__file__).parent / "scripts"
READY = 240.0  # seconds until TensorFlow is imported, on a machine that is crowded
SECONDS = 180.0  # for a command that does one thing
GRACE = 3.0  # seconds between being asked to end and being killed
SHOWN = 256 << 10  # bytes of a log that are kept with a run
REMOVED = re.compile(r"^(OMPI_|PMIX_|PRTE_|PYTHON|VIRTUAL_ENV|KERAS_|LD_|.*_proxy$)", re.I)
_COLOURS = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_KEY = re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(-----END [A-Z ]*PRIVATE KEY-----|\Z)", re.S)


@dataclass
class FxCommand:
    """A command that was started. `where` is who runs it; `code` is None while it runs, negative for a signal that
    ended it."""

    words: str
    where: str
    cwd: Path
    log: Path
    limit: float
    number: int
    began: float = field(default_factory=time.monotonic)
    code: int | None = None
    took: float | None = None
    late: bool = False  # it was ended since its time was up
    asked: float | None = None  # when it was asked to end

    @property
    def running(self) -> bool:
        return self.code is None

    def told(self) -> dict[str, Any]:
        """For the metric `fx`."""
        seconds = None if self.took is None else round(self.took, 3)
        return {"command": self.words, "where": self.where, "seconds": seconds, "code": self.code}

    def last_words(self) -> str:
        """The end of what it has said, in one line."""
        lines = [line.strip() for line in shown(self.log).decode(errors="replace").splitlines()]
        said = [line for line in lines if line and not set(line) <= set("─━│╭╮╰╯ ")]
        return " ".join(said[-3:])[-300:]


class Fx:
    """The commands of one rank."""

    def __init__(self, python: Path, folder: Path, variables: Mapping[str, str] | None = None) -> None:
        """`folder` is private to the run; the server's own log and the home folder of commands are in it."""
        self.commands: list[FxCommand] = []
        self.ready: float | None = None  # seconds that the imports took
        self._began = time.monotonic()
        home = folder / "home"  # ~/.openfl would choose other commands
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
        assert self._process.stdout is not None
        os.set_blocking(self._process.stdout.fileno(), False)
        self._unread = b""

    def start(
        self, words: str, where: str, cwd: Path, log: Path, *, limit: float = SECONDS, **variables: str
    ) -> FxCommand:
        """Start a command line that begins with `fx`, or with a file of `scripts`."""
        argv = shlex.split(words)
        if argv[0] != "fx":
            argv[0] = str(SCRIPTS / argv[0])
        command = FxCommand(words, where, cwd, log, limit, len(self.commands))
        self.commands.append(command)
        self._send({"id": command.number, "argv": argv, "cwd": str(cwd), "log": str(log), "env": variables})
        return command

    def run(self, words: str, where: str, cwd: Path, log: Path, *, limit: float = SECONDS) -> Steps:
        """Run a command until it has ended, and return it. Raises WorkshopError where it fails."""
        command = self.start(words, where, cwd, log, limit=limit)
        while command.running:
            yield
        if command.code != 0:
            why = f"within {limit:.0f} s" if command.late else f"(exit code {command.code})"
            raise WorkshopError(f"`{words}` of {where} did not succeed {why}; it says: {command.last_words()}")
        return command

    def signal(self, command: FxCommand, number: int) -> None:
        """Send it a signal, unless it has ended."""
        if command.running:
            self._send({"id": command.number, "signal": number})

    def end(self, command: FxCommand) -> None:
        """Ask it to end, as Ctrl-C does; it is killed if it doesn't."""
        if command.running and command.asked is None:
            command.asked = time.monotonic()
            self.signal(command, signal.SIGINT)

    def look(self) -> None:
        """Read what the server tells, and end what takes too long. Raises WorkshopError where the server is gone."""
        assert self._process.stdout is not None
        with contextlib.suppress(BlockingIOError):
            while more := os.read(self._process.stdout.fileno(), 1 << 16):
                self._unread += more
        *lines, self._unread = self._unread.split(b"\n")
        for line in lines:
            self._hear(json.loads(line))
        if self._process.poll() is not None:
            words = " ".join(shown(self._log).decode(errors="replace").split())[-300:]
            raise WorkshopError(
                f"OpenFL's environment has ended unexpectedly (exit code {self._process.returncode}); it says: {words}"
            )
        now = time.monotonic()
        if self.ready is None and now - self._began > READY:
            raise WorkshopError(f"TensorFlow was not imported within {READY:.0f} s in OpenFL's environment.")
        for command in self.commands:
            if command.running and self.ready is not None:
                self._hurry(command, now)

    def close(self) -> None:
        """End everything."""
        with contextlib.suppress(OSError):
            assert self._process.stdin is not None
            self._process.stdin.close()  # upon which the server kills its children
        try:
            self._process.wait(GRACE)
        except subprocess.TimeoutExpired:  # it still imports, and is deaf
            self._process.kill()
            self._process.wait(GRACE)
        assert self._process.stdout is not None
        self._process.stdout.close()

    def _hurry(self, command: FxCommand, now: float) -> None:
        if command.asked is not None and now - command.asked > GRACE:
            self.signal(command, signal.SIGKILL)
        elif command.asked is None and now - command.began > command.limit:
            command.late = True
            self.end(command)

    def _hear(self, message: Mapping[str, Any]) -> None:
        now = time.monotonic()
        if "ready" in message:
            self.ready = now - self._began
            for command in self.commands:
                command.began = now  # those that were asked for earlier begin only now
            return
        command = self.commands[message["id"]]
        if "code" in message:
            command.code, command.took = int(message["code"]), now - command.began

    def _send(self, message: Mapping[str, Any]) -> None:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps(message).encode() + b"\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            pass  # `look` says why


def shown(log: Path, most: int = SHOWN) -> bytes:
    """The end of a log, without colours, and without any private key that somebody might have written there."""
    try:
        with open(log, "rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(size - most, 0))
            text = file.read(most).decode(errors="replace")
    except OSError:
        return b""
    return _KEY.sub("(a private key was here)", _COLOURS.sub("", text)).encode()


def _environment(variables: Mapping[str, str], home: Path) -> dict[str, str]:
    """A rank's variables without those of MPI, of Python, and of proxies, over which gRPC would talk to this very
    machine."""
    kept = {name: value for name, value in variables.items() if not REMOVED.match(name)}
    return kept | {
        "HOME": str(home),
        "TMPDIR": str(home),
        "CUDA_VISIBLE_DEVICES": "",
        "TF_CPP_MIN_LOG_LEVEL": "3",
        "TF_ENABLE_ONEDNN_OPTS": variables.get("TF_ENABLE_ONEDNN_OPTS", "1"),
        "PYTHONUNBUFFERED": "1",
        "COLUMNS": "160",
    }
