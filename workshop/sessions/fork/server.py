"""Forks ranks from a process that has imported what they import, for ranks of this machine.

The conductor runs it as `python -m workshop.sessions.fork.server PARENT SOCKET LIBRARY…`: a listening socket, by its
descriptor, and what it imports beside what all ranks need. A session has one of them, and one with the libraries of
training, so that ranks that don't train have none of these in their memory. A launcher starts `sessions.fork.stub`,
which hands over all its arguments, variables and descriptors; a child of the server becomes the rank. The server tells
the stub how its rank has ended, and kills the rank of a stub that is gone. Ranks end with the server.

A byte on standard output says that all is imported. No thread may be started here, since a fork would lose it. When
standard input ends, all processes that were forked end, and the server collects them: in a container, the first process
may collect nobody.
"""

from __future__ import annotations

import contextlib
import gc
import os
import select
import signal
import socket
import sys
import time
from importlib import import_module

from workshop.core.parent_death import end_with_parent
from workshop.engine.tensorflow import lean
from workshop.sessions.fork import child
from workshop.sessions.fork.child import Request

LEAVE = 1.0  # seconds within which those that were forked end
REAPED = 2.0  # seconds for which others can still read how a rank has ended
# No module that imports MPI is among these: a placement says which MPI that is.
FIRST = ("ipyparallel.serialize", "workshop.engine.cells", "workshop.engine.host")
INPUT = 0  # the descriptor that is closed when nobody asks for ranks any longer


class ForkServer:
    """Forks what stubs ask for at a socket, until its parent is gone."""

    def __init__(self, listening: socket.socket) -> None:
        self._listening = listening
        self._ranks: dict[int, socket.socket] = {}  # process -> line to its stub
        self._over: list[tuple[float, int]] = []  # when nobody needs to read any more how it has ended, process
        self._awake, self._waker = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)

    def serve(self) -> Request:
        """Serve requests. Returns only in children, each with its request."""
        signal.set_wakeup_fd(self._waker, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        while True:
            for ready in self._ready():
                if ready == self._awake:
                    os.read(self._awake, 4096)
                elif ready == INPUT:
                    self._end()
                elif ready != self._listening.fileno():
                    self._pass_on(ready)
                elif (became := self._take()) is not None:
                    return became
            self._look()

    def _ready(self) -> list[int]:
        poll = select.poll()
        for sock in (self._listening, *self._ranks.values()):
            poll.register(sock, select.POLLIN)
        poll.register(self._awake, select.POLLIN)
        poll.register(INPUT, select.POLLIN)
        until = min((when for when, _ in self._over), default=None)
        wait = None if until is None else max((until - time.monotonic()) * 1000, 1)
        return [descriptor for descriptor, _ in poll.poll(wait)]

    def _take(self) -> Request | None:
        """Fork the rank that is requested; returns the request in the child."""
        line, _ = self._listening.accept()
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
            sockets = [*self._ranks.values(), self._listening, line]
            child.take_on(incoming, [self._awake, self._waker, *(sock.detach() for sock in sockets)])
            return incoming
        incoming.close()
        self._ranks[pid] = line
        self._say(line, b"+")
        return None

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
        for pid in self._ranks:
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


def main() -> None:
    """Serve; in a child, be a rank."""
    parent, listening, *libraries = sys.argv[1:]
    end_with_parent(int(parent))
    child.adopt_orphans()
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    with lean() if libraries else contextlib.nullcontext():
        for name in (*FIRST, *libraries):
            import_module(name)
    gc.collect()
    gc.freeze()  # as much memory as possible is shared with children
    os.write(1, b"+")
    ForkServer(socket.socket(fileno=int(listening))).serve()
    from workshop.engine import host

    host.main()


if __name__ == "__main__":
    main()
