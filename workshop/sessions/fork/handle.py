"""The conductor's handle on a server that forks ranks (`sessions.fork.server`)."""

from __future__ import annotations

import contextlib
import os
import select
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import psutil

from workshop.core import processes
from workshop.core.placement import THREAD_VARIABLES, Placement
from workshop.mpi import module_of
from workshop.sessions.fork import child, stub
from workshop.sessions.fork.server import LEAVE

PLAIN = [sys.executable, "-P", "-m", "workshop.engine.host"]  # a rank that imports for itself
FORKED = [sys.executable, "-I", "-S", stub.__file__]
TRAINING = ("tensorflow", "keras")  # what ranks that train import
IMPORTED = 60.0  # seconds that the libraries of training get; they take three
BACKLOG = 1024  # stubs that may wait; a placement has no more ranks
# Libraries may start their threads as they are imported, and a process with threads can't be forked.
ALONE = {name: "1" for name in THREAD_VARIABLES if not name.startswith("TF_")}


class RankServer:
    """A process that forks ranks of one session on this machine. The thread that starts it has to live as long as the
    server does (`core.parent_death`)."""

    def __init__(self, socket: Path, libraries: Sequence[str] = ()) -> None:
        """`socket` is in the session's folder, which nobody else may enter; `libraries` are what it imports beside what
        all ranks need."""
        self._socket = socket
        self._libraries = libraries
        self._process: subprocess.Popen[bytes] | None = None
        self._imported = False  # or it has failed

    @property
    def alive(self) -> bool:
        """Whether the server runs and forks ranks at once. A server that was stopped by a signal doesn't."""
        process = self._process
        return process is not None and process.poll() is None and not processes.is_stopped(process.pid)

    def start(self) -> None:
        """Start the server, unless it runs. It imports in the background; the ranks' stubs wait until it has."""
        if self.alive:
            return
        self.stop()
        with _listening(self._socket) as listening:
            words = [str(os.getpid()), str(listening.fileno()), *self._libraries]
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", "workshop.sessions.fork.server", *words],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                env=os.environ | ALONE | {child.ROOM: "x" * child.ROOM_BYTES},
                pass_fds=[listening.fileno()],
                cwd=self._socket.parent,  # in which ranks begin
                bufsize=0,
            )
        self._imported = False

    def settle(self, give_up: Callable[[], bool]) -> None:
        """Wait until the server has no imports to do, also where they failed; at most `IMPORTED` seconds, and not after
        `give_up`."""
        deadline = time.monotonic() + IMPORTED
        while self.alive and not self._imported and not give_up() and time.monotonic() < deadline:
            assert self._process is not None and self._process.stdout is not None, "it is a pipe"
            self._imported = select.select([self._process.stdout], [], [], 0.2)[0] != []

    def launch(self, placement: Placement) -> tuple[list[str], Mapping[str, str], psutil.Process | None]:
        """The program that a launcher starts as ranks of a placement, its variables, and the process that forks these
        ranks, which end with it; None where they import for themselves."""
        variables = placement.environment | module_of(placement.mpi).environment(placement)
        if self._process is None or not self.alive or not child.forkable(variables):
            return PLAIN, {}, None
        return FORKED, {stub.SERVER: str(self._socket)}, psutil.Process(self._process.pid)

    def stop(self) -> None:
        """End the server, and with it its ranks."""
        alive = self.alive
        process, self._process = self._process, None
        if process is not None:
            assert process.stdin is not None and process.stdout is not None, "they are pipes"
            process.stdin.close()
            if alive:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(2 * LEAVE)
            process.kill()
            process.wait()
            process.stdout.close()


def _listening(path: Path) -> socket.socket:
    """A socket at that path, which may be longer than a socket's limit."""
    path.unlink(missing_ok=True)
    at = os.open(path.parent, os.O_PATH | os.O_DIRECTORY)
    try:
        listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        listening.bind(f"/proc/self/fd/{at}/{path.name}")
    finally:
        os.close(at)
    path.chmod(0o600)
    listening.listen(BACKLOG)
    return listening
