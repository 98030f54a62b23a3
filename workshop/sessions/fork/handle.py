"""The conductor's handle on the server that forks its ranks (`sessions.fork.server`)."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import psutil

from workshop.core import processes
from workshop.core.placement import THREAD_VARIABLES, Placement
from workshop.sessions.fork import child, stub
from workshop.sessions.fork.server import LEAVE, WORD

PLAIN = [sys.executable, "-P", "-m", "workshop.engine.host"]  # a rank that imports for itself
FORKED = [sys.executable, "-I", "-S", stub.__file__]
IMPORTED = 60.0  # seconds that the libraries of training get; they take three
RANKS, TRAINING = "ranks.socket", "training.socket"
BACKLOG = 1024  # stubs that may wait; a placement has no more ranks
# Libraries may start their threads as they are imported, and a process with threads can't be forked.
ALONE = {name: "1" for name in THREAD_VARIABLES if not name.startswith("TF_")}


class RankServer:
    """The process that forks the ranks of one session on this machine. The thread that starts it has to live as long as
    the server does (`core.parent_death`)."""

    def __init__(self, folder: Path) -> None:
        """`folder` is the session's own, which nobody else may enter."""
        self._folder = folder
        self._process: subprocess.Popen[bytes] | None = None
        self._asked = self._tried = False
        self._trainer = 0  # the process that has imported what training needs
        self._told = threading.Condition()

    @property
    def alive(self) -> bool:
        """Whether the server runs and forks ranks at once. A server that was stopped by a signal doesn't."""
        return self._process is not None and self._process.poll() is None and not self._stopped

    @property
    def trained(self) -> bool:
        """Whether new ranks begin with the imports of training done."""
        return self._trainer != 0

    def start(self) -> None:
        """Start the server, unless it runs. It imports in the background; the ranks' stubs wait until it has."""
        if self.alive:
            return
        self.stop()
        with _listening(self._folder, RANKS) as ranks, _listening(self._folder, TRAINING) as training:
            numbers = [ranks.fileno(), training.fileno()]
            words = [str(os.getpid()), *map(str, numbers)]
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", "workshop.sessions.fork.server", *words],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                env=os.environ | ALONE | {child.ROOM: "x" * child.ROOM_BYTES},
                pass_fds=numbers,
                cwd=self._folder,  # in which ranks begin, and which Python puts before its own libraries' folders
                bufsize=0,
            )
        self._tried = False
        threading.Thread(target=self._hear, args=(self._process,), name="rank-server", daemon=True).start()

    def train(self, retry: bool = True) -> None:
        """Have the server import what training needs, unless it does or has; don't wait for that. With `retry` also
        where an earlier try has failed."""
        with self._told:
            if self._process is None or not self.alive or self._asked or (self._tried and not retry):
                return
            assert self._process.stdin is not None, "it is a pipe"
            self._asked = self._tried = True
            with contextlib.suppress(OSError):
                self._process.stdin.write(b"t")

    def settle(self, give_up: Callable[[], bool]) -> None:
        """Wait until the server has no imports to do, also where they failed; at most `IMPORTED` seconds, and not after
        `give_up`."""
        deadline = time.monotonic() + IMPORTED
        with self._told:
            while self._asked and not self.trained and self.alive and not give_up() and time.monotonic() < deadline:
                self._told.wait(0.2)

    def forks(self, placement: Placement) -> bool:
        """Whether the server forks the ranks of a placement."""
        return self.alive and child.forkable(placement.environment)

    def launch(self, placement: Placement, trains: bool) -> tuple[list[str], Mapping[str, str]]:
        """The program that a launcher starts as ranks of a placement, and its variables."""
        if not self.forks(placement):
            return PLAIN, {}
        return FORKED, {stub.SERVER: str(self._folder / (TRAINING if trains else RANKS))}

    def parent(self, trains: bool) -> psutil.Process | None:
        """The process that forks ranks, which end with it; None where it is gone."""
        number = (trains and self._trainer) or (self._process.pid if self._process is not None else None)
        try:
            return psutil.Process(number) if number is not None else None
        except psutil.NoSuchProcess:
            return None

    @property
    def _stopped(self) -> bool:
        assert self._process is not None, "it was started"
        return any(map(processes.is_stopped, (self._process.pid, self._trainer)))

    def stop(self) -> None:
        """End the server, and with it its ranks."""
        alive = self.alive
        process, self._process = self._process, None
        if process is not None:
            assert process.stdin is not None, "it is a pipe"
            process.stdin.close()
            if alive:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(2 * LEAVE)
            process.kill()
            process.wait()
        with self._told:
            self._trainer, self._asked = 0, False

    def _hear(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stdout is not None, "it is a pipe"
        with process.stdout as stream:
            while len(word := stream.read(WORD.size)) == WORD.size:
                self._tell(process, *WORD.unpack(word))
        self._tell(process, 0)

    def _tell(self, process: subprocess.Popen[bytes], trainer: int) -> None:
        with self._told:
            if process is self._process:  # else another one has been started meanwhile
                self._trainer, self._asked = trainer, trainer != 0
                self._told.notify_all()


def _listening(folder: Path, name: str) -> socket.socket:
    """A socket in that folder, whose path may be longer than a socket's limit."""
    (folder / name).unlink(missing_ok=True)
    at = os.open(folder, os.O_PATH | os.O_DIRECTORY)
    try:
        listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        listening.bind(f"/proc/self/fd/{at}/{name}")
    finally:
        os.close(at)
    (folder / name).chmod(0o600)
    listening.listen(BACKLOG)
    return listening
