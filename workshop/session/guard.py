"""Start a program that ends with its parent, also after kill -9 of the parent.

`python -m workshop.session.guard PID CMD…`, where PID is the parent that the program belongs to. The kernel sends
SIGTERM when it dies; the program itself notices nothing before that.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1  # prctl(2)


def end_with_parent(parent: int) -> None:
    """Ask the kernel for SIGTERM when our parent dies; ends at once if it is dead already."""
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(1)


def guarded(command: list[str]) -> list[str]:
    """The command that runs `command` as a child of this process and no longer than it."""
    return [sys.executable, "-m", "workshop.session.guard", str(os.getpid()), *command]


if __name__ == "__main__":
    end_with_parent(int(sys.argv[1]))
    os.execvp(sys.argv[2], sys.argv[2:])
