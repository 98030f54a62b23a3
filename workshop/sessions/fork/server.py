"""Forks ranks from a process that has imported what they import; one for each session, for ranks of this machine.

The conductor runs it as `python -m workshop.sessions.fork.server PARENT RANKS TRAINING`: two listening sockets,
by their descriptors. A launcher starts `sessions.fork.stub`, which hands over all its arguments, variables
and descriptors; a child of the server becomes the rank. The server tells the stub how its rank has ended, and kills the
rank of a stub that is gone. Ranks end with the server.

A byte on standard input asks for the libraries of training. A child imports them and forks the ranks that are asked
for at the second socket; standard output tells its number when it does, and 0 when it has ended (`WORD`). So ranks
that don't train have none of these in their memory. No thread may be started here, since a fork would lose it.

When standard input ends, all processes that were forked end, and the server collects them: in a container, the first
process may collect nobody.
"""

from __future__ import annotations

import contextlib
import gc
import os
import select
import signal
import socket
import struct
import sys
import time
from collections.abc import Callable, Sequence
from importlib import import_module

from workshop.core.parent_death import end_with_parent
from workshop.engine.tensorflow import lean
from workshop.sessions.fork import child
from workshop.sessions.fork.child import Request

WORD = struct.Struct("i")  # the number of a process
LEAVE = 1.0  # seconds within which those that were forked end
REAPED = 2.0  # seconds for which others can still read how a rank has ended
FIRST = ("ipyparallel.serialize", "workshop.engine.cells", "workshop.engine.host", "workshop.engine.host")
# No module that imports MPI is among these: a placement says which MPI that is.
LIBRARIES = ("tensorflow", "keras")


class ForkServer:
    """Forks what stubs ask for, until its parent is gone."""

    def __init__(
        self,
        listening: Sequence[socket.socket],
        request_socket: int | None = None,
        tell: Callable[[int], None] = lambda pid: None,
    ) -> None:
        """`listening` are the sockets for ranks, the last one for those that train. A byte
        on the descriptor `request_socket` asks for the imports of training; the server ends when it is closed."""
        self._listening = list(listening)
        self._asked = request_socket
        self._tell = tell
        self._ranks: dict[int, socket.socket] = {}  # process -> line to its stub
        self._over: list[tuple[float, int]] = []  # when nobody needs to read any more how it has ended, process
        self._child = 0  # that imports, or has imported, for training; and its line
        self._trained: int | None = None
        self._resting = False  # while that child forks the ranks that train
        self._awake, self._waker = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)

    def serve(self) -> Request:
        """Serve requests. Returns only in children, each with its request."""
        signal.set_wakeup_fd(self._waker, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        while True:
            for ready in self._ready():
                if ready == self._awake:
                    os.read(self._awake, 4096)
                elif ready in (listeners := {sock.fileno(): sock for sock in self._listening}):
                    if (became := self._take(listeners[ready])) is not None:
                        return became
                elif ready == self._asked:
                    if not os.read(ready, 1):
                        self._end()
                    if self._trained is None and (trained := self._train()) is not None:
                        return trained.serve()
                elif ready == self._trained:
                    self._hear()
                else:
                    self._pass_on(ready)
            self._look()

    def _ready(self) -> list[int]:
        lines = [line.fileno() for line in self._ranks.values()]
        waiting = [
            self._awake,
            *lines,
            *(optional for optional in (self._asked, self._trained) if optional is not None),
        ]
        waiting += [sock.fileno() for sock in self._listening[: -1 if self._resting else None]]
        poll = select.poll()
        for waiting_descriptor in waiting:
            poll.register(waiting_descriptor, select.POLLIN)
        until = min((when for when, _ in self._over), default=None)
        wait = None if until is None else max((until - time.monotonic()) * 1000, 1)
        return [descriptor for descriptor, _ in poll.poll(wait)]

    def _own_descriptors(self) -> list[int]:
        """The descriptors that no child needs."""
        lines = [line.detach() for line in self._ranks.values()]
        return [self._awake, self._waker, *lines, *(optional for optional in (self._trained,) if optional is not None)]

    def _take(self, listener: socket.socket) -> Request | None:
        """Fork the rank that is requested at a socket; returns the request in the child."""
        try:
            line, _ = listener.accept()
        except BlockingIOError:  # the child that forks ranks which train was faster
            return None
        try:
            incoming = child.read(line)
        except (OSError, ValueError) as error:
            print(f"A rank was not forked: {type(error).__name__}: {error}", file=sys.stderr, flush=True)
            line.close()
            return None
        if (threads := len(os.listdir("/proc/self/task"))) != 1:
            print(f"A rank was not forked: the server has {threads} threads.", file=sys.stderr, flush=True)
            incoming.close()
            line.close()
            return None
        parent = os.getpid()
        pid = os.fork()
        if pid == 0:
            child.die_with(parent)
            child.take_on(
                incoming, [*self._own_descriptors(), *(sock.detach() for sock in self._listening), line.detach()]
            )
            return incoming
        incoming.close()
        self._ranks[pid] = line
        self._say(line, b"+")
        return None

    def _train(self) -> ForkServer | None:
        """Fork the child that imports what training needs; returns its own server there."""
        here, write_end = os.pipe2(os.O_CLOEXEC)
        parent = os.getpid()
        self._child = os.fork()
        if self._child:
            os.close(write_end)
            self._trained = here
            return None
        child.die_with(parent)
        signal.set_wakeup_fd(-1)
        for descriptor in (here, *self._own_descriptors(), *(sock.detach() for sock in self._listening[:-1])):
            os.close(descriptor)
        os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
        with lean():
            for name in LIBRARIES:
                import_module(name)
        settle()
        os.write(write_end, b"+")
        return ForkServer(self._listening[-1:])

    def _hear(self) -> None:
        """The answer of the child with the imports of training: "ready", or nothing."""
        assert self._trained is not None, "it was ready"
        self._resting = os.read(self._trained, 1) != b""
        if not self._resting:
            os.close(self._trained)
            os.waitpid(self._child, 0)
            self._trained = None
        self._tell(self._child if self._resting else 0)

    def _pass_on(self, ready: int) -> None:
        """Pass a signal from a stub on to its rank. Where the stub is gone, its rank is ended, too."""
        for pid, line in list(self._ranks.items()):
            if line.fileno() == ready:
                try:
                    numbers = line.recv(64)
                except OSError:
                    numbers = b""
                for number in numbers or [signal.SIGKILL]:
                    os.kill(pid, number)
                if not numbers:
                    self._forget(pid)

    def _look(self) -> None:
        """Tell stubs how their ranks have ended, and collect all other ended processes."""
        for pid, line in list(self._ranks.items()):
            ended = os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            if ended is not None:
                kind = b"c" if ended.si_code == os.CLD_EXITED else b"s"
                self._say(line, kind + bytes([ended.si_status & 0xFF]))
                self._forget(pid)
        now = time.monotonic()
        for when, pid in list(self._over):
            if when <= now and os.waitpid(pid, os.WNOHANG)[0]:
                self._over.remove((when, pid))
            elif when <= now:  # it was killed and takes its time
                self._over.remove((when, pid))
                self._over.append((now + REAPED, pid))

    def _end(self) -> None:
        """End all ranks and this server, because nobody asks for ranks any longer."""
        # Ranks that train are killed when the child is that has forked them, and are ours then.
        for pid in [*self._ranks, *([self._child] if self._trained is not None else [])]:
            os.kill(pid, signal.SIGKILL)
        deadline = time.monotonic() + LEAVE
        with contextlib.suppress(ChildProcessError):  # all are collected
            while time.monotonic() < deadline:
                if not os.waitpid(-1, os.WNOHANG)[0]:
                    time.sleep(0.005)
        os._exit(0)

    def _forget(self, pid: int) -> None:
        self._ranks.pop(pid).close()
        self._over.append((time.monotonic() + REAPED, pid))

    @staticmethod
    def _say(line: socket.socket, word: bytes) -> None:
        with contextlib.suppress(OSError):  # its stub is gone, which is read next
            line.sendall(word)


def settle() -> None:
    """Leave as much memory as possible to be shared with children."""
    gc.collect()
    gc.freeze()


def main() -> None:
    """Serve; in a child, be a rank."""
    parent, *numbers = map(int, sys.argv[1:])
    end_with_parent(parent)
    child.adopt_orphans()
    for name in FIRST:
        import_module(name)
    settle()
    listening = [socket.socket(fileno=number) for number in numbers]
    for sock in listening:
        sock.setblocking(False)

    def tell(pid: int) -> None:
        os.write(1, WORD.pack(pid))

    ForkServer(listening, 0, tell).serve()
    from workshop.engine import host

    host.main()


if __name__ == "__main__":
    main()
