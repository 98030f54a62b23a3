"""What C libraries and commands have written to the standard streams, on its way to the notebook.

ipykernel puts a pipe in the place of each standard stream, and a thread of its own reads that and writes what it reads
to `sys.stdout` or `sys.stderr`.
"""

from __future__ import annotations

import ctypes
import fcntl
import struct
import termios
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

MOST = 0.5  # seconds that somebody waits for it: a command in the background may go on writing
LOOK = 0.001  # seconds
_libc = ctypes.CDLL(None)


def drain(streams: Sequence[Any]) -> None:
    """Wait until what was written before has arrived at ipykernel's `streams`: first what C libraries still hold, then
    what is in the pipes, and what a thread has read and not written yet."""
    _libc.fflush(None)
    watched = [stream for stream in streams if getattr(stream, "watch_fd_thread", None) is not None]
    deadline = time.monotonic() + MOST
    while not all(_empty(stream._fid) and _idle(stream) for stream in watched) and time.monotonic() < deadline:
        time.sleep(LOOK)


def _empty(descriptor: int) -> bool:
    try:
        waiting: int = struct.unpack("i", fcntl.ioctl(descriptor, termios.FIONREAD, b"\0\0\0\0"))[0]
    except OSError:
        return True
    return waiting == 0


def _idle(stream: Any) -> bool:
    """Whether the thread of a stream is in a system call that reads its pipe (proc_pid_syscall(5): the call's number,
    then its arguments). Where the kernel doesn't tell, it has a moment."""
    try:
        called = Path(f"/proc/self/task/{stream.watch_fd_thread.native_id}/syscall").read_text().split()
    except OSError:
        time.sleep(10 * LOOK)
        return True
    return called[1:2] == [hex(stream._fid)]
