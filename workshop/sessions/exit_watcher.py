"""Which processes of this machine have ended, which one first, and how.

A launcher that ends all ranks when one has died can't always tell which rank that was: MPICH names the one it collects
first. The kernel wakes us when the first process ends, before the launcher ends another one.
"""

from __future__ import annotations

import os
import select
import signal
import threading
from collections.abc import Callable, Iterable
from pathlib import Path


class ExitWatcher:
    """Watches processes until all have ended."""

    def __init__(self, pids: Iterable[int], ended: Callable[[int], None] = lambda pid: None) -> None:
        """`ended` is called with each process that has ended, in a thread of its own."""
        self.gone: dict[int, int | None] = {}  # processes in the order of their ends, with signals that are known
        self._watched: dict[int, int] = {}
        self._ended = ended
        for pid in pids:
            try:
                self._watched[os.pidfd_open(pid)] = pid
            except ProcessLookupError:  # it has ended already
                self.gone[pid] = None
            except OSError:  # a kernel that is older than this call
                continue
        threading.Thread(target=self._watch, name="exit_watcher", daemon=True).start()

    @property
    def first(self) -> tuple[int, int | None] | None:
        """The process that ended first, with its signal where that is known; None while all live."""
        return next(iter(self.gone.items()), None)

    def _watch(self) -> None:
        # Unlike poll, epoll tells events in the order in which they happened, however late it is asked.
        with select.epoll() as ends:
            for descriptor in self._watched:
                ends.register(descriptor, select.EPOLLIN)
            for pid in self.gone:
                self._ended(pid)
            while self._watched:
                for descriptor, _ in ends.poll():
                    ends.unregister(descriptor)
                    pid = self._watched.pop(descriptor)
                    self.gone[pid] = _signal(pid)
                    os.close(descriptor)
                    self._ended(pid)


def _signal(pid: int) -> int | None:
    """The signal that ended a process that nobody has collected yet; None where there was none, or it isn't known."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    number = int(fields[-1]) & 0x7F  # the status as waitpid has it, proc(5)
    return number if number in signal.valid_signals() else None
