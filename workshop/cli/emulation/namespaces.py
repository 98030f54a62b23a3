"""Linux namespaces, which make processes of one machine look like hosts, and remove them all at once.

This works as root and, where the kernel allows user namespaces, for everybody. Interfaces, mounts and processes belong
to the namespace: they end with its first process, and that process ends with its owner, also after kill -9. Only
programs with one thread may use it.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import signal
import sys
from pathlib import Path
from typing import NoReturn

from workshop.core.errors import BadInput
from workshop.core.parent_death import PR_SET_PDEATHSIG

# unshare(2) and mount(2)
NEW_MOUNT, NEW_UTS, NEW_IPC, NEW_USER, NEW_PID, NEW_NET = (
    0x00020000, 0x04000000, 0x08000000, 0x10000000, 0x20000000, 0x40000000,
)  # fmt: skip
PRIVATE, RECURSIVE, BIND = 1 << 18, 1 << 14, 1 << 12

_libc = ctypes.CDLL(None, use_errno=True)


def enter(owner: int, remove: Path | None = None) -> None:
    """Continue as a process of a new host with its own network, name, processes, mounts and shared memory.

    The caller waits outside; a child of the first process inside returns from here. `owner` is the caller's parent,
    with which everything ends; `remove` is a folder that is removed afterwards. Raises BadInput where this machine
    doesn't allow it.
    """
    _unshare()
    # After unshare: becoming another user's root, even one's own, makes the kernel forget this.
    _end_with_parent(signal.SIGTERM)
    if os.getppid() != owner:
        sys.exit(1)
    reading_end, writing_end = os.pipe()
    first = os.fork()
    if first:
        os.close(reading_end)
        _stay_outside(first, remove)
    os.close(writing_end)
    _end_with_parent(signal.SIGKILL)
    os.set_blocking(reading_end, False)
    try:
        if not os.read(reading_end, 1):
            os._exit(1)  # our parent died before we could ask the kernel
    except BlockingIOError:
        os.close(reading_end)
    _mount(None, "/", None, PRIVATE | RECURSIVE)
    _mount("proc", "/proc", "proc", 0)
    _mount("tmpfs", "/dev/shm", "tmpfs", 0)
    worker = os.fork()
    if worker:
        _reap_until(worker)
    _end_with_parent(signal.SIGKILL)


def mount_over(file: Path, target: str) -> None:
    """Show another file at a path, to this host only."""
    _mount(str(file), target, None, BIND)


def _unshare() -> None:
    flags = NEW_MOUNT | NEW_UTS | NEW_IPC | NEW_PID | NEW_NET
    if _libc.unshare(flags) == 0:
        return
    user, group = os.getuid(), os.getgid()
    if _libc.unshare(flags | NEW_USER) != 0:
        reason = os.strerror(ctypes.get_errno())
        raise BadInput(
            f"This machine allows no namespaces of one's own, not even in a user namespace ({reason}); try it as root."
        )
    try:
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/uid_map").write_text(f"0 {user} 1")
        Path("/proc/self/gid_map").write_text(f"0 {group} 1")
    except OSError as error:
        raise BadInput(f"This machine allows no user namespaces ({error.strerror}); try it as root.") from error


def _mount(source: str | None, target: str, kind: str | None, flags: int) -> None:
    def encoded(text: str | None) -> bytes | None:
        return None if text is None else text.encode()

    if _libc.mount(encoded(source), target.encode(), encoded(kind), flags, None) != 0:
        reason = os.strerror(ctypes.get_errno())
        raise BadInput(f"This machine doesn't let a namespace mount its own {target} ({reason}); try it as root.")


def _end_with_parent(how: signal.Signals) -> None:
    _libc.prctl(PR_SET_PDEATHSIG, int(how), 0, 0, 0)


def _stay_outside(first: int, remove: Path | None) -> NoReturn:
    """Wait until all inside has ended, and end as it did; take it down when we are asked to end."""
    signal.signal(signal.SIGTERM, lambda *_: os.kill(first, signal.SIGKILL))
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _, status = os.waitpid(first, 0)
    if remove is not None:
        shutil.rmtree(remove, ignore_errors=True)
    os._exit(_code(status))


def _reap_until(worker: int) -> NoReturn:
    """The work of a host's first process: orphans become its children. It ends with us, and the whole host with it."""
    while True:
        pid, status = os.wait()
        if pid == worker:
            os._exit(_code(status))


def _code(status: int) -> int:
    code = os.waitstatus_to_exitcode(status)
    return code if code >= 0 else 128 - code
